"""Broken names, links, nesting and permissions in landing folders: one source's matter each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from floodmark.api import connect
from floodmark.connectors.base import Connector, Discovery, SourceSpec
from floodmark.connectors.files.connector import FilesConnector
from floodmark.connectors.registry import make_connector
from floodmark.errors import DataError
from floodmark.limits import LIMITS
from floodmark.scalar.types import BIGINT, VARCHAR, Field, struct_of
from floodmark.session.inspect.dead_letters import frequent
from floodmark.spark.session import Sessions
from tests.warehouses import NOW, Site, contents, visible

TWO = """
CREATE SOURCE bad (a INT, b VARCHAR) WITH (connector = 'files', path = '{landing}/bad')
FORMAT PLAIN ENCODE JSON;
CREATE SOURCE good (a INT) WITH (connector = 'files', path = '{landing}/good')
FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW v AS SELECT a FROM good;
CREATE MATERIALIZED VIEW w AS SELECT a FROM bad;
"""
NO_SPARK: Any = None
DEEP = '{"a": 7, "b": ' + "[" * 20_000 + "]" * 20_000 + "}"


def source(folder: Path, encode: str = "JSON", **options: str) -> Connector:
    schema = (Field("a", BIGINT), Field("b", VARCHAR))
    options = {"connector": "files", "path": str(folder), **options}
    return make_connector(SourceSpec("s", schema, "PLAIN", encode, options), limits=LIMITS)


@pytest.fixture
def on_spark(tmp_path: Path, sessions: Sessions) -> Site:
    """Return an empty site."""
    return Site(tmp_path, sessions)


def landed(site: Site) -> tuple[Path, Path]:
    """Make both folders, with two rows in the good one."""
    site.define(TWO)
    bad, good = site.landing / "bad", site.landing / "good"
    for folder in (bad, good):
        folder.mkdir(parents=True)
    (good / "0.json").write_text('{"a": 1}\n{"a": 2}\n')
    return bad, good


def test_a_line_nested_deeper_than_python_goes_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "0.json").write_text(f'{DEEP}\n{{"A": 1}}\n')
    (split,) = source(tmp_path).discover_splits({}, 100)
    assert split.payload["columns"] == ["A"]


def test_a_name_that_is_not_utf8_is_put_aside_once(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.json")).write_text('{"a": 1}\n')
    (split,) = source(tmp_path).discover_splits({}, 100)
    assert split.payload["file"] == "caf\\xe9.json" and "UTF-8" in split.payload["bad"]
    json.dumps(split.as_json(), ensure_ascii=False).encode()
    assert source(tmp_path).discover_splits({0: split.end}, 100, Discovery((split,))) == ()
    with pytest.raises(DataError, match="E0477") as refused:
        source(tmp_path, on_error="fail").discover_splits({}, 100)
    str(refused.value).encode()


def test_a_link_that_leaves_the_folder_is_refused_unless_wanted(tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    folder.mkdir()
    (tmp_path / "secret.json").write_text('{"a": 1}\n')
    (folder / "0.json").write_text('{"a": 0}\n')
    (folder / "1.json").symlink_to(folder / "0.json")
    (folder / "2.json").symlink_to("../secret.json")
    (first, second) = source(folder).discover_splits({}, 100)
    taken = Discovery((first, second))
    with pytest.raises(DataError, match="E0496"):
        source(folder).discover_splits({0: second.end}, 100, taken)
    assert len(source(folder, follow_symlinks="true").discover_splits({}, 100)) == 3
    # The folder itself may be a link.
    (tmp_path / "link").symlink_to(folder)
    assert len(source(tmp_path / "link", match_pattern="[01].json").discover_splits({}, 100)) == 2


STRUCT = pa.array([{"X": 1, "x": 2}])


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"A": pa.array([1]), "a": pa.array([2]), "b": pa.array(["x"])}, "A and a"),
        ({"a": pa.array([1]), "b": STRUCT}, "X and x"),
    ],
)
def test_parquet_columns_that_differ_in_case_alone(
    tmp_path: Path, columns: dict[str, Any], names: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    schema = (Field("a", BIGINT), Field("b", struct_of(("x", BIGINT))))
    options = {"connector": "files", "path": str(tmp_path)}
    connector = make_connector(SourceSpec("s", schema, "PLAIN", "PARQUET", options), limits=LIMITS)
    (split,) = connector.discover_splits({}, 100)
    assert f"columns {names} differ" in split.payload["bad"]


def test_columns_that_nobody_declares_may_differ_in_case_alone(tmp_path: Path) -> None:
    columns = {"a": pa.array([1]), "b": pa.array(["x"]), "Z": pa.array([1]), "z": STRUCT}
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    (split,) = source(tmp_path, "PARQUET").discover_splits({}, 100)
    assert "bad" not in split.payload


@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError("no\udce9"), "E0494"), (OSError(5, "broken"), "E0495")]
)
def test_what_nobody_expects_of_a_source_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    site = Site(tmp_path, NO_SPARK)
    bad, _ = landed(site)
    offer = FilesConnector.discover_splits

    def failing(self: FilesConnector, *arguments: Any) -> Any:
        if self.folder == bad:
            raise error
        return offer(self, *arguments)

    monkeypatch.setattr(FilesConnector, "discover_splits", failing)
    with connect(site.root / "warehouse", site.pipelines) as fm:
        pipeline = fm.deployed.pipeline
        assert fm.warehouse.splits.new_splits(pipeline).keys() == {"good"}
        assert fm.has_new(["v"])
        (told,) = fm.warehouse.splits.failures(pipeline).values()
        assert told.code == code and "source bad" in told.message
        str(told).encode()


@pytest.mark.spark
@pytest.mark.parametrize(
    "break_", [lambda f: (f / "0.json").write_text(f'{DEEP}\n{{"a": 3}}\n'),
               lambda f: (f / os.fsdecode(b"\xff.json")).write_text('{"a": 3}\n')],
    ids=["nested", "name"],
)  # fmt: skip
def test_the_others_go_on(on_spark: Site, break_: Callable[[Path], object]) -> None:
    site = on_spark
    bad, _ = landed(site)
    break_(bad)
    (bad / "1.json").write_text('{"a": 4}\n')
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}
        assert visible(site.root / "warehouse", "v") == [(1,), (2,)]
        assert (4,) in visible(site.root / "warehouse", "w")
        (letter,) = contents(site.root / "warehouse", "_dead_letter/public/bad").to_pylist()
        assert letter["__error"]["place"]
    assert site.run().returncode == 0


PRICED = """
CREATE SOURCE priced
(id INT NOT NULL, price NUMERIC(10, 2), at TIMESTAMP, exact NUMERIC, value VARCHAR)
WITH (connector = 'files', path = '{landing}/priced') FORMAT PLAIN ENCODE {encode};
"""
UPSERTED = """
CREATE SOURCE priced
(id INT PRIMARY KEY, price NUMERIC(10, 2), at TIMESTAMP, exact NUMERIC, value VARCHAR)
WITH (connector = 'files', path = '{landing}/priced') FORMAT UPSERT ENCODE JSON;
"""
JSON_LINES = [
    '{"id": 1, "price": "abc", "value": "x"}',
    '{"id": 2, "price": 1.25, "at": "12/31/2013"}',
    '{"id": 3, "price": "xyz"}',
    '{"id": 4',
    '{"id": 5, "price": 2, "exact": 1e-1, "value": "kept"}',
    '{"id": 6, "exact": "1e-11"}',
    '{"id": 7, "exact": "1e-99999999999"}',
    '{"id": 8, "at": "0000-01-01"}',
    '{"id": 9, "at": "9999-12-31T23:59:59-01:00"}',
]
CSV_LINES = [
    "id,price,at,exact,value", "1,abc,,,x", "2,1.25,12/31/2013,,", "3,xyz,,,", '4,"1.25,,,',
    "5,2,,1e-1,kept", "6,,,1e-11,", "7,,,1e-99999999999,",
    "8,,0000-01-01,,", "9,,9999-12-31T23:59:59-01:00,,",
]  # fmt: skip
REASONS = [
    "at: '0000-01-01' is not timestamp without time zone",
    "at: '12/31/2013' is not timestamp without time zone",
    "at: '9999-12-31T23:59:59-01:00' is not timestamp without time zone",
    "exact: '1e-11' is not numeric(38,10)", "exact: '1e-99999999999' is not numeric(38,10)",
    "price: 'abc' is not numeric(10,2)",
    "price: 'xyz' is not numeric(10,2)",
]  # fmt: skip


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "lines", "last"),
    [
        (PRICED.replace("{encode}", "JSON"), JSON_LINES, "the line is not one JSON object"),
        (PRICED.replace("{encode}", "CSV"), CSV_LINES, "the line has an odd number of quotes"),
        (UPSERTED, JSON_LINES, "the line is not one JSON object"),
    ],
    ids=["json", "csv", "upsert"],
)
def test_a_row_that_does_not_parse_names_its_column(
    on_spark: Site, text: str, lines: list[str], last: str
) -> None:
    on_spark.define(text)
    folder = on_spark.landing / "priced"
    folder.mkdir(parents=True)
    if "UPSERT" in text:
        lines = [f'{{"key": {{"id": {i}}}, "value": {line}}}' for i, line in enumerate(lines, 1)]
    (folder / "new.txt").write_text("\n".join(lines) + "\n")
    with on_spark.connect() as fm:
        fm.advance(now=NOW)
        assert visible(on_spark.root / "warehouse", "priced")[0][-1] == "kept"
        table = fm.store.open("_dead_letter/public/priced")
        most = frequent(fm.store, table, limits=LIMITS)
        assert most[:2] == [
            ("E0651 at: '…' is not timestamp without time zone", 3),
            ("E0651 price: '…' is not numeric(10,2)", 2),
        ]
    letters = contents(on_spark.root / "warehouse", "_dead_letter/public/priced").to_pylist()
    said = sorted(letter["__error"]["message"] for letter in letters)
    assert said[:-1] == REASONS and said[-1].startswith(last)
    assert {letter["__error"]["place"].rpartition(":")[0] for letter in letters} == {
        "priced/new.txt"
    }
