"""What `strict` accepts stores every volatile value over rows that are updated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from floodmark.catalog.objects import Origin
from floodmark.changelog import ChangelogMode
from floodmark.errors import BindError, NotSupported
from floodmark.plan import nodes as n
from floodmark.plan.expr.determinism import is_volatile
from floodmark.plan.expr.expressions import Call, Cast, ColumnRef, Literal, Now
from floodmark.scalar.types import BOOLEAN, DATE, DOUBLE, INT, TIMESTAMPTZ, Field, list_of
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.stream.explain.explain import explain_object
from floodmark.stream.ndu import DeterminismMode, Root, colocate_state, resolve
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark.stream.operators.lower import StreamPlan, lower
from floodmark.stream.passes.keep_keys import keep_keys
from floodmark.stream.properties.nondeterministic_exprs import is_temporal, nontemporal_exprs
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


def accepted() -> Iterator[tuple[Shape, StreamPlan]]:
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
        for expr in node.expressions:
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
            assert known.own_table in (None, known.beside)
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
    codes = [note.code for note in explain_object(found, done).notes]
    assert [code for code in codes if code != "A108"] == ["A106", "A112"]


def test_json_has_the_keys_and_where_values_live() -> None:
    found, done = created("CREATE MATERIALIZED VIEW v AS SELECT id, random() AS r FROM cdc;")
    last = explain_object(found, done).as_dict()["nodes"][-1]
    assert last["unique_keys"] == last["upsert_keys"] == [["id"]]
    assert last["dependencies"] == [{"given": ["id"], "settled": ["r"]}]
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
    assert nontemporal_exprs(
        Call(BOOLEAN, ">", (Call(DOUBLE, "random", ()), Literal(DOUBLE, 0.5)))
    ) == ("random()",)


RETRACTING = n.Scan(
    "t", (Field("k", INT, False), Field("v", list_of(INT))), ("k",), ChangelogMode.RETRACT
)
COIN = Call(DOUBLE, "random", ())


def resolved(root: n.Node, mode: DeterminismMode) -> StreamPlan:
    """Return the plan of a view over these nodes, as it may run."""
    plan = lower(keep_keys(root))
    (statement,) = parse_script("CREATE MATERIALIZED VIEW v AS SELECT 1;", "case.sql")
    key = plan[plan.root].stream_key
    root = Root(key, stores=True)
    return colocate_state(resolve(plan, root, mode, statement).plan, root)


def stored_columns(plan: StreamPlan) -> list[str]:
    """Return the columns that any operator of a plan stores."""
    found = (node for node in plan.nodes if isinstance(node, n.MaterializeProject))
    return [c for node in found for c in node.stored]


def table_function(argument_below: bool) -> n.Node:
    """Return a table function over a volatile argument: a column below, or a call."""
    length, numbers = Cast(INT, COIN), list_of(INT)
    if not argument_below:
        call = Call(numbers, "array", (Literal(INT, 1), length))
        return n.ProjectSet(RETRACTING, call, ("value",), "__ordinal")
    below = n.Project(RETRACTING, (("k", ColumnRef(INT, "k")), ("r", length)))
    call = Call(numbers, "array", (Literal(INT, 1), ColumnRef(INT, "r")))
    repeated = n.ProjectSet(below, call, ("value",), "__ordinal")
    return n.Project(repeated, (("k", ColumnRef(INT, "k")), ("value", ColumnRef(INT, "value"))))


def test_arguments_of_table_functions_are_stored() -> None:
    """Hole h4: Flink accepts an argument that is a column below."""
    for below in (True, False):
        plan = resolved(table_function(below), DeterminismMode.STRICT)
        assert stored_columns(plan) == ["r" if below else "__stored"]
    resolved(table_function(True), DeterminismMode.FLINK)
    with pytest.raises(NotSupported) as refused:
        resolved(table_function(False), DeterminismMode.FLINK)
    assert refused.value.code == "E0320"


def test_a_volatile_filter_behind_not_exists_is_stored() -> None:
    other = replace(RETRACTING, object="u", columns=(Field("uk", INT, False),), stream_key=("uk",))
    condition = Call(BOOLEAN, ">", (COIN, Literal(DOUBLE, 0.5)))
    anti = n.Join(RETRACTING, n.Filter(other, condition), n.JoinKind.ANTI, (("k", "uk"),))
    assert stored_columns(resolved(anti, DeterminismMode.STRICT)) == ["__stored"]
    resolved(anti, DeterminismMode.FLINK)


@pytest.mark.parametrize(
    "kind", [n.JoinKind.RIGHT, n.JoinKind.FULL, n.JoinKind.SEMI, n.JoinKind.ANTI]
)
def test_a_volatile_condition_of_a_side_is_stored_below_the_join(kind: n.JoinKind) -> None:
    other = replace(RETRACTING, object="u", columns=(Field("uk", INT, False),), stream_key=("uk",))
    condition = Call(BOOLEAN, ">", (COIN, Cast(DOUBLE, ColumnRef(INT, "uk"))))
    plan = resolved(
        n.Join(RETRACTING, other, kind, (("k", "uk"),), condition), DeterminismMode.STRICT
    )
    (node,) = [x for x in plan.nodes if isinstance(x, n.MaterializeProject)]
    assert node.input == other
    assert [t.key for t in plan[node].state] == [("uk",)]


def test_what_was_looked_up_at_different_times_need_not_agree() -> None:
    sql = (
        "SELECT dim.n, dim.k, count(*) AS c FROM app JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() "
        "ON app.k = dim.k GROUP BY dim.n, dim.k"
    )
    found, done = created(f"CREATE MATERIALIZED VIEW v AS {sql};")
    last = explain_object(found, done).as_dict()["nodes"][-1]
    assert last["unique_keys"] == [["k", "n"]]


@pytest.mark.parametrize("where", ["", "WHERE d = 0"])
def test_equal_numbers_may_have_two_texts(where: str) -> None:
    sql = f"SELECT d, d::varchar AS t, count(*) AS c FROM cdc {where} GROUP BY d, d::varchar"
    found, done = created(f"CREATE MATERIALIZED VIEW v AS {sql};")
    last = explain_object(found, done).as_dict()["nodes"][-1]
    assert all("t" in key for key in last["unique_keys"])


def test_keys_beside_a_stored_value_stay_not_null() -> None:
    found, _ = created("CREATE MATERIALIZED VIEW v AS SELECT id, random() AS r FROM cdc;")
    assert found.plan is not None and isinstance(found.plan.root, n.MaterializeProject)
    assert [f.nullable for f in found.plan.root.schema] == [False, True]
