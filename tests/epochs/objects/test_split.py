"""TRANSFORM USING … WITH (split = true): what is stored at intake, and the view over it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from floodmark.errors import FloodmarkError
from floodmark.plan.expr.printing import to_text
from floodmark.session.ddl.deployment import DeploymentPlan, plan_files, plan_statement
from floodmark.session.ddl.desired import read_files
from floodmark.session.show import explain_name, show
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_statement
from floodmark.storage.logs.catalog import CatalogVersion
from floodmark.stream.ndu import DeterminismMode
from floodmark.stream.ndu.mode import mode_of
from floodmark.stream.objects.analysed import Pipeline
from floodmark.tools.equivalence import differences
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of
from tests.warehouses import NOW, Site, differing, tables, visible

NAMES = "CREATE TABLE names (k VARCHAR PRIMARY KEY, name VARCHAR)"
GROUPED = (
    "SELECT k, sum(v + 1) AS n FROM s WHERE v > 3 AND now() < ts + INTERVAL '1 hour' GROUP BY k"
)


def source(query: str, options: str = "split = true", more: str = "") -> str:
    return (
        f"CREATE SOURCE s (id BIGINT, k VARCHAR, v INT, ts TIMESTAMPTZ, j JSONB{more})"
        " WITH (connector = 'files', path = 'p') FORMAT PLAIN ENCODE JSON"
        f" TRANSFORM USING ({query}) WITH ({options})"
    )


def applied(*statements: str, before: Deployed = EMPTY) -> Deployed:
    for sql in statements:
        plan = plan_statement(parse_statement(sql), before)
        assert plan is not None
        before = Deployed(before.version + 1, plan.pipeline)
    return before


def restarted(found: Deployed) -> Deployed:
    return load(CatalogVersion(1, 1, tuple(statements_of(found.catalog)), datetime(2024, 1, 1)))


def intake(pipeline: Pipeline, key: str = "s__stored") -> str:
    """Return what is stored of a row, which rows, and until when, as text."""
    declared = pipeline[key].declared
    assert declared is not None and declared.transform is not None
    made = declared.transform
    columns = [c if c == to_text(e) else f"{c}: {to_text(e)}" for c, e in made.columns]
    condition = [] if made.condition is None else [f"where {to_text(made.condition)}"]
    return "; ".join(
        [", ".join(columns), *condition, *(f"before {to_text(e)}" for e in made.upper_bounds)]
    )


@pytest.mark.parametrize(
    ("query", "stored"),
    [
        (GROUPED, "k, v; where v > 3; before ts + INTERVAL '1 hour'"),
        ("SELECT count(*) FROM s", "id"),
        ("SELECT DISTINCT upper(k) AS u FROM s", "u: upper(k)"),
        ("SELECT 1 AS one, k || '!' AS c FROM s ORDER BY c LIMIT 1", "c: k || '!'"),
        ("SELECT s.k, name FROM s JOIN names n USING (k) WHERE v > 1", "k; where v > 1"),
        ("SELECT id FROM s WHERE v > (SELECT avg(v) FROM s)", "id, v"),
        (
            "SELECT a.id, b.v FROM s a JOIN s b USING (k) WHERE a.v > 1 AND b.v > 1 AND a.id > 3",
            "id, k, v; where v > 1",
        ),
        (
            "WITH d AS (SELECT upper(k) AS u, v::text AS t FROM s WHERE v > 0)"
            " SELECT u, t FROM d WHERE t > '1' UNION ALL SELECT u, max(t) FROM d GROUP BY u",
            "u: upper(k), t: v::varchar; where v > 0",
        ),
        (
            "SELECT 10 / v AS q FROM s WHERE v <> 0 UNION SELECT 10 / v FROM s WHERE v > 2",
            "v",
        ),
        (
            "SELECT 10 / v AS q FROM s WHERE v > 2 UNION SELECT 10 / v FROM s WHERE v > 2",
            "q: 10 / v; where v > 2",
        ),
        ("SELECT k, random() AS r, count(*) FROM s WHERE v > 2 GROUP BY 1, 2", "k; where v > 2"),
        ("SELECT k, sum(v) OVER (PARTITION BY k) FROM s WHERE random() < 0.5 AND v > 2",
         "k, v; where v > 2"),
        (
            "SELECT id, v FROM s WHERE v > 2 AND 10 / id > 1"
            " UNION SELECT id, v FROM s WHERE v > 2 AND 20 / id > 1",
            "id, v; where v > 2 IS NOT FALSE",
        ),
        ("SELECT k, max(10 / v) OVER () FROM s WHERE v > 2 AND 10 / v > random()",
         "k, v; where v > 2 IS NOT FALSE"),
    ],
)  # fmt: skip
def test_what_is_stored(query: str, stored: str) -> None:
    found = applied(NAMES, source(query))
    assert intake(found.pipeline) == stored
    assert [k for k in found.pipeline.objects if k != "names"] == ["s__stored", "s"]
    assert "s__stored" in found.pipeline["s"].reads


def test_a_key_of_the_source_stays() -> None:
    found = applied(source("SELECT k, count(*) AS n FROM s GROUP BY k", more=", PRIMARY KEY (id)"))
    assert intake(found.pipeline) == "k, __key_id: id"


def test_a_query_of_single_rows_is_the_source_alone() -> None:
    found = applied(source("SELECT id, v + 1 AS w FROM (SELECT * FROM s) x WHERE v > 1"))
    assert list(found.pipeline.objects) == ["s"]
    assert intake(found.pipeline, "s") == "id, w: v + 1; where v > 1"


def test_a_restart_and_a_drop() -> None:
    before = applied(NAMES, source(GROUPED))
    after = restarted(before)
    prints = [{k: o.fingerprint for k, o in d.pipeline.objects.items()} for d in (before, after)]
    assert prints[0] == prints[1]
    assert list(applied("DROP SOURCE s", before=after).pipeline.objects) == ["names"]
    assert plan_statement(parse_statement("CREATE SOURCE IF NOT EXISTS s (a INT)"), after) is None
    for sql, code in (("DROP SOURCE s__stored", "E0205"), ("DROP MATERIALIZED VIEW s", "E0203")):
        with pytest.raises(FloodmarkError) as raised:
            applied(sql, before=after)
        assert raised.value.code == code
    assert list(applied("DROP SOURCE s__stored CASCADE", before=after).catalog.objects) == ["names"]


def test_a_table_that_is_joined_is_in_use() -> None:
    found = applied(NAMES, source("SELECT s.k, name FROM s JOIN names n USING (k)"))
    with pytest.raises(FloodmarkError, match="is used by s__stored, s") as raised:
        applied("DROP TABLE names", before=found)
    assert raised.value.code == "E0205"


def test_both_are_shown() -> None:
    found = applied(source(GROUPED))
    text = str(explain_name("s", found))
    assert "Source[r0] s__stored" in text and "Materialize[r2] s" in text
    assert "where v > 3" in text and "now() < __upper, which is ts + INTERVAL '1 hour'" in text
    for name in ("s", "s__stored"):
        asked = parse_statement(f"SHOW CREATE SOURCE {name}")
        assert isinstance(asked, s.Show)
        again = applied(show(asked, found, {}).rows[0][1])
        assert {k: o.fingerprint for k, o in again.pipeline.objects.items()} == {
            k: o.fingerprint for k, o in found.pipeline.objects.items()
        }


def test_a_changed_view_part_leaves_what_is_stored(tmp_path: Path) -> None:
    def plan(query: str, before: Deployed) -> DeploymentPlan:
        (tmp_path / "a.sql").write_text(source(query) + ";")
        return plan_files(read_files(tmp_path), before)

    before = restarted(Deployed(1, plan(GROUPED, EMPTY).pipeline))
    assert plan(GROUPED, before).changes == ()
    view = plan(GROUPED.replace("sum(v + 1)", "max(v)"), before).changes
    assert [(c.key, c.action) for c in view] == [("s", "rebuild")]
    both = plan(GROUPED.replace("v > 3", "v > 4"), before).changes
    assert [(c.key, c.action) for c in both] == [("s__stored", "rebuild"), ("s", "rebuild")]


def test_a_split_output_of_several() -> None:
    found = applied(
        "CREATE SOURCE shop (id INT, item VARCHAR) WITH (connector = 'files', path = 'p/{table}')"
        " FORMAT PLAIN ENCODE JSON FOR TABLES ("
        " orders TRANSFORM USING (SELECT item, count(*) AS n FROM orders GROUP BY item)"
        " WITH (split = true) AS counted, plain)"
    )
    assert list(found.catalog.objects) == ["counted__stored", "counted", "plain"]
    assert found.pipeline["counted__stored"].object.option("path") == "p/orders"
    assert list(applied("DROP SOURCE counted", before=found).catalog.objects) == ["plain"]
    assert applied("DROP SOURCE shop", before=restarted(found)).catalog.objects == {}


def test_what_set_determinism_says_holds_for_the_view(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(f"SET determinism = 'ignore';\n{source(GROUPED)};")
    found = plan_files(read_files(tmp_path), EMPTY).pipeline
    assert found["s"].object.option("determinism") == "ignore"
    assert mode_of(found["s"].object) is DeterminismMode.IGNORE


@pytest.mark.parametrize(
    ("query", "options", "code", "caret"),
    [
        ("SELECT id FROM s", "split = maybe", "E0239", "split = maybe"),
        ("SELECT id FROM s", "splt = true", "E0239", "splt = true"),
        ("SELECT k, count(*) FROM s GROUP BY k", "split = true, x = 1", "E0354", "x = 1"),
        ("SELECT k, count(*) FROM s GROUP BY k", "split = false", "E0345", "GROUP BY k"),
        ("SELECT count(*) FROM names", "split = true", "E0345", None),
        ("SELECT k, count(*) FROM s WHERE nope GROUP BY k", "split = true", "E0206", "nope"),
        ("SELECT k, count(*) FROM other GROUP BY k", "split = true", "E0201", "other"),
        ("SELECT k, count(*) FROM s WHERE now() - ts < INTERVAL '1 hour' GROUP BY k",
         "split = true", "E0357", None),
    ],
)  # fmt: skip
def test_what_is_refused(query: str, options: str, code: str, caret: str | None) -> None:
    with pytest.raises(FloodmarkError) as raised:
        applied(NAMES, source(query, options))
    assert raised.value.code == code, raised.value
    assert raised.value.span is not None
    assert caret is None or raised.value.span.text == caret


def test_split_sources_run(site: Site) -> None:
    at = NOW.isoformat()
    site.define(
        f"{NAMES};",
        source(GROUPED).replace("path = 'p'", "path = '{landing}'") + ";",
        "CREATE SOURCE twice (id BIGINT, k VARCHAR, v INT) WITH (connector = 'files',"
        " path = '{landing}') FORMAT PLAIN ENCODE JSON TRANSFORM USING ("
        " SELECT a.id, n.name, 10 / b.v AS q FROM twice a JOIN twice b ON a.id = b.id + 1"
        " LEFT JOIN names n ON n.k = a.k WHERE a.v > 0 AND b.v > 0) WITH (split = true);",
    )
    site.landing.mkdir()
    rows = [{"id": i, "k": "ab"[i % 2], "v": i, "ts": at} for i in range(8)]
    (site.landing / "1.json").write_text("\n".join(map(json.dumps, rows)) + "\n")
    with site.connect() as fm:
        fm.execute("INSERT INTO names VALUES ('a', 'Ann')")
        fm.advance(now=NOW + timedelta(minutes=1))
        assert visible(fm.root, "s__stored") == [("a", 4), ("a", 6), ("b", 5), ("b", 7)]
        assert visible(fm.root, "s") == [("a", 12), ("b", 14)]
        assert visible(fm.root, "twice__stored") == [(i, "ab"[i % 2], i) for i in range(1, 8)]
        assert visible(fm.root, "twice")[:2] == [(2, "Ann", 10), (3, None, 5)]
        assert [differences(fm, name) for name in ("s", "twice")] == [0, 0]
        fm.advance(now=NOW + timedelta(hours=2))
        assert fm.execute("SELECT * FROM s").rows == ()
        assert len(fm.execute("SELECT * FROM twice").rows) == 6
        fm.execute("DROP SOURCE s")
        fm.execute("DROP SOURCE twice")
        assert [t for t in tables(fm.root) if "names" not in t] == []


ALIKE = (
    "SELECT k, count(*) AS n, sum(v) AS t FROM {s} WHERE v <> 3 AND now() < ts GROUP BY k",
    "SELECT a.id, b.v FROM {s} a JOIN {s} b ON a.k = b.k WHERE a.v > 1 AND b.v > 1 AND a.id > 3",
    "WITH d AS (SELECT upper(k) AS u, 100 / (v - 2) AS q FROM {s} WHERE v > 0)"
    " SELECT u, q FROM d WHERE q > 1 UNION ALL SELECT u, max(q) FROM d GROUP BY u",
    "SELECT id, v FROM {s} WHERE 10 / (v - 3) > -100 ORDER BY v DESC, id LIMIT 3",
    "SELECT id, k FROM {s} EXCEPT SELECT id, k FROM {s} WHERE v > 3",
)


@pytest.mark.long
def test_a_split_source_is_a_source_and_a_view_over_it(site: Site) -> None:
    """Rows and the number of dead letters are the same, and a replay finds them again."""
    head = "CREATE SOURCE {} (id BIGINT{}, k VARCHAR, v INT, ts TIMESTAMPTZ)"
    form = " WITH (connector = 'files', path = '{landing}') FORMAT PLAIN ENCODE JSON"
    texts = [f"{head.format('plain', '')}{form};"]
    for i, query in enumerate(ALIKE):
        split = f"TRANSFORM USING ({query.replace('{s}', f's{i}')}) WITH (split = true)"
        texts.append(f"CREATE MATERIALIZED VIEW v{i} AS {query.replace('{s}', 'plain')};")
        texts.append(f"{head.format(f's{i}', ' PRIMARY KEY' * (i % 2))}{form} {split};")
    site.define(*texts)
    site.landing.mkdir()
    with site.connect() as fm:
        for epoch in range(2):
            rows = [
                {
                    "id": i,
                    "k": ("a", "b", None)[i % 3],
                    "v": None if i % 7 == 6 else i % 5,
                    "ts": (NOW + timedelta(minutes=7 * (i % 9))).isoformat(),
                }
                for i in range(epoch * 12, epoch * 12 + 12)
            ]
            text = "\n".join(map(json.dumps, rows))
            (site.landing / f"{epoch}.json").write_text(text + "\n")
            fm.advance(now=NOW + timedelta(minutes=1 + 30 * epoch))
            for i in range(len(ALIKE)):
                view, split = (fm.execute(f"SELECT * FROM {c}{i}").rows for c in "vs")
                assert sorted(view, key=repr) == sorted(split, key=repr) != [], (epoch, i)
        dead = {key: record.dead_rows for key, record in fm.status().items() if record.dead_rows}
        assert dead.keys() == {"v2", "s2", "v3", "s3__stored"}
        assert differing(fm.replay()) == []


def test_a_split_source_of_messages_follows_its_rows(site: Site) -> None:
    site.define(
        "CREATE SOURCE u (id INT PRIMARY KEY, k VARCHAR, v INT) WITH (connector = 'files',"
        " path = '{landing}') FORMAT UPSERT ENCODE JSON TRANSFORM USING ("
        " SELECT k, sum(v) AS t FROM u WHERE v > 0 GROUP BY k) WITH (split = true);"
    )
    site.landing.mkdir()
    rows = ['{"id": 1, "k": "a", "v": 1}', '{"id": 2, "k": "a", "v": 5}', '{"id": 3, "v": 2}']
    later = ['{"id": 1, "k": "b", "v": 3}', '{"key": {"id": 2}, "value": null}', '{"id": 3}']
    with site.connect() as fm:
        for name, lines, totals in (("1", rows, [("a", 6), (None, 2)]), ("2", later, [("b", 3)])):
            (site.landing / f"{name}.json").write_text("\n".join(lines) + "\n")
            fm.advance()
            assert visible(fm.root, "u") == totals
            assert differences(fm, "u") == 0
