"""What `strict` accepts stores every volatile value over rows that are updated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodmark.analysis.analyse import AnalysedPlan
from floodmark.analysis.explain import explain_object
from floodmark.analysis.expressions_of import expressions_of
from floodmark.analysis.ndu.culprits import is_temporal, is_volatile, untimely
from floodmark.analysis.pipeline import AnalysedObject, Pipeline, analyse_catalog
from floodmark.catalog.objects import Origin
from floodmark.catalog.types import BOOLEAN, DATE, DOUBLE, TIMESTAMPTZ
from floodmark.errors import BindError, NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expressions import Call, Cast, ColumnRef, Literal, Now
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from tests.flink.ours import setup
from tests.flink.shapes import SHAPES, Shape

CATALOG, KNOWN = setup()
NOW, TS = Now(TIMESTAMPTZ), ColumnRef(TIMESTAMPTZ, "ts")


def created(sql: str) -> tuple[AnalysedObject, Pipeline]:
    """Return the object that a statement over the shapes' catalog defines."""
    (statement,) = parse_script(sql, "case.sql")
    assert isinstance(statement, s.Definition)
    catalog = CATALOG.create(statement, Origin.FILE)
    done = analyse_catalog(catalog, KNOWN, runs=False)
    (key,) = catalog.objects.keys() - CATALOG.objects.keys()
    return done[key], done


def accepted() -> Iterator[tuple[Shape, AnalysedPlan]]:
    """Yield the shapes that `strict` accepts, with their plans."""
    for shape in SHAPES:
        try:
            found, _ = created(shape.floodmark.replace("'flink'", "'strict'"))
        except NotSupported:
            continue
        assert found.plan is not None
        yield shape, found.plan


ACCEPTED = {shape.name: plan for shape, plan in accepted()}


def test_most_shapes_are_repaired() -> None:
    assert len(ACCEPTED) > len(SHAPES) * 3 // 4


@pytest.mark.parametrize("name", ACCEPTED)
def test_every_volatile_value_over_updates_is_stored(name: str) -> None:
    plan = ACCEPTED[name]
    for node in plan.nodes:
        if all(plan[child].append_only for child in node.inputs):
            continue
        for expr in expressions_of(node):
            if is_volatile(expr):
                stored = isinstance(node, n.MaterializeProject) and expr in [
                    e for c, e in node.columns if c in node.stored
                ]
                looked_up = isinstance(node, n.LookupJoin) and node.stored
                assert stored or looked_up, (plan[node].identifier, expr)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_stored_has_one_place_and_the_right_key(name: str) -> None:
    plan = ACCEPTED[name]
    for node in plan.nodes:
        known = plan[node]
        if not isinstance(node, n.MaterializeProject | n.LookupJoin):
            assert not known.own_table
            continue
        updating = not plan[node.inputs[0]].append_only
        stores = isinstance(node, n.MaterializeProject) or node.stored
        if updating and stores and not known.own_table:
            assert [t.key for t in known.state] == [plan[node.inputs[0]].stream_key]
        if updating and isinstance(node, n.LookupJoin) and not node.static:
            assert node.stored or known.own_table


def test_a_refusal_names_the_column_the_function_and_the_keys() -> None:
    with pytest.raises(NotSupported) as refused:
        created("CREATE MATERIALIZED VIEW v AS SELECT id, now() AS t FROM cdc;")
    assert refused.value.code == "E0320"
    assert '"t"' in refused.value.message
    assert "now()" in refused.value.message
    assert "upsert keys [id]" in (refused.value.detail or "")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(BindError) as refused:
        created("CREATE MATERIALIZED VIEW v AS SELECT id FROM cdc WITH (determinism = 'exact');")
    assert refused.value.code == "E0324"


def test_ignored_updates_are_notes() -> None:
    sql = "SELECT k, sum(d * random()) AS t FROM cdc GROUP BY k WITH (determinism = 'ignore')"
    found, done = created(f"CREATE MATERIALIZED VIEW v AS {sql};")
    assert [note.code for note in explain_object(found, done).notes] == ["A106", "A112"]


def test_json_has_the_keys_and_where_values_live() -> None:
    found, done = created("CREATE MATERIALIZED VIEW v AS SELECT id, random() AS r FROM cdc;")
    last = explain_object(found, done).as_dict()["nodes"][-1]
    assert last["unique_keys"] == last["upsert_keys"] == [["id"]]
    assert last["own_table"] is True
    assert last["monotone"] == {"id": "cdc.id"}


def test_what_compares_with_the_time() -> None:
    hour = Literal(TIMESTAMPTZ, None)
    later = Call(BOOLEAN, ">", (TS, NOW))
    assert is_temporal(later)
    assert is_temporal(Call(BOOLEAN, "<=", (Cast(DATE, NOW), Cast(DATE, TS))))
    assert not is_temporal(Call(BOOLEAN, "<>", (TS, NOW)))
    assert not is_temporal(Call(BOOLEAN, ">", (NOW, NOW)))
    assert not is_temporal(Call(BOOLEAN, ">", (TS, hour)))
    assert untimely(Call(BOOLEAN, ">", (Call(DOUBLE, "random", ()), Literal(DOUBLE, 0.5)))) == (
        "random()",
    )
