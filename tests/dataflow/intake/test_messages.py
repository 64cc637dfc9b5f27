"""Sources by key: messages of FORMAT DEBEZIUM and UPSERT as files hold them; on Spark."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from floodmark.api import Floodmark
from floodmark.changelog import is_hidden
from floodmark.reference.compile import reference_objects
from floodmark.reference.engine import advance
from floodmark.reference.messages import RefusedMessage, parse_message
from floodmark.reference.pipeline import Delivery, EpochInput, ObjectState
from floodmark.scalar.types import Schema
from floodmark.session.audit.checks import FIELDS, run_checks
from floodmark.session.inspect.reporting import reports
from floodmark.storage.logs.epochs import ObjectRecord
from floodmark.testing.output import ObjectOutput, read_output
from tests.program_reference import compile_sql
from tests.warehouses import NOW, Site, digests, dying_at

pytestmark = pytest.mark.spark

METADATA = """
op VARCHAR METADATA FROM 'op', changed TIMESTAMP METADATA FROM 'ts',
tab VARCHAR METADATA FROM 'table', file VARCHAR METADATA FROM 'file_name',
line BIGINT METADATA FROM 'row_number',
"""
COLUMNS = "id INT, name VARCHAR, n NUMERIC(10, 2), at TIMESTAMP, day DATE"
SOURCE = """
CREATE SOURCE c ({columns}, {more} PRIMARY KEY (id))
WITH (connector = 'files', path = '{{landing}}') FORMAT {form} ENCODE JSON;
"""


def define(site: Site, form: str, columns: str = COLUMNS, more: str = "") -> None:
    site.define(SOURCE.format(columns=columns, more=more, form=form))
    site.landing.mkdir(parents=True, exist_ok=True)


def land(site: Site, name: int, lines: Iterable[Any], folder: str = ".") -> None:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    (site.landing / folder / f"{name:03}.json").write_text("".join(f"{text}\n" for text in texts))


def step(fm: Floodmark) -> ObjectRecord:
    (epoch,) = fm.advance(now=NOW)
    return epoch.objects["c"]


def result(fm: Floodmark) -> ObjectOutput:
    return read_output(fm.store, fm.deployed.pipeline["c"])


def row(id_: int, name: str = "a", n: Any = "1.50", **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": name, "n": n, "at": "2024-01-01T10:00:00", **more}


BAD = [
    ({"before": None, "after": None, "source": {"table": "t"}, "op": "t"}, "E0655"),
    ({"before": None, "after": None, "op": "u"}, "E0656"),
    ({"before": None, "after": row(1), "op": "x"}, "E0656"),
    (row(1), "E0656"),
    ({"before": None, "after": None, "op": "d"}, "E0657"),
    ({"before": {"id": None, "name": "a"}, "after": None, "op": "d"}, "E0652"),
    ({"before": None, "after": {**row(1), "id": None}, "op": "c"}, "E0652"),
    ({"before": None, "after": {**row(1), "n": "many"}, "op": "c"}, "E0651"),
    ({"before": {"id": "one"}, "after": row(1), "op": "u"}, "E0651"),
    ({"before": None, "after": "row", "op": "c"}, "E0651"),
    ({"payload": "text"}, "E0651"),
    ({"payload": {"before": None, "after": None, "op": "c"}}, "E0656"),
    ('{"before": null, "after": {"id": 1', "E0651"),
    ("[1]", "E0651"),
    ("null null", "E0651"),
    ('{"payload": null} x', "E0651"),
    ('{"before": null, "after": {"id": 1}, "op": "c"} {"op": "c"}', "E0651"),
    ("{'before': null, 'after': {'id': 1}, 'op': 'c'}", "E0651"),
]


def test_messages_that_cannot_be_applied_are_dead_letters(site: Site) -> None:
    define(site, "DEBEZIUM")
    land(site, 0, [{"before": None, "after": row(1), "op": "r"}, *(bad for bad, _ in BAD)])
    with site.connect() as fm:
        record = step(fm)
        found = result(fm)
        letters = (
            fm.sql("SELECT reason, expression, place FROM c__dead_letter").toArrow().to_pylist()
        )
    assert [r[0] for r in found.rows] == [1]
    by_line = {int(x["place"].rsplit(":", 1)[1]): x["reason"] for x in letters}
    assert by_line == {i: code for i, (_, code) in enumerate(BAD, 2)}
    assert (record.rows_in, record.dead_rows, record.ignored_rows) == (len(BAD) + 1, len(BAD), 0)


def test_envelopes_tombstones_and_times(site: Site) -> None:
    define(site, "DEBEZIUM", more=METADATA)
    moment = datetime(2024, 1, 1, 10)
    seconds = int(moment.replace(tzinfo=UTC).timestamp())
    source = {"ts_ms": 1704103200500, "db": "shop", "schema": "public", "table": "orders"}
    times = [seconds * scale for scale in (1, 10**3, 10**6, 10**9)]
    bare = [
        {"before": None, "after": row(i, at=at, day=19723), "source": source, "op": "c"}
        for i, at in enumerate(times)
    ]
    wrapped = {"schema": {"type": "struct"}, "payload": {**bare[0], "after": row(9, ID=9)}}
    land(site, 0, [*bare, wrapped, "null", {"payload": None, "schema": None}])
    with site.connect() as fm:
        record = step(fm)
        rows = sorted(result(fm).rows)
    told = ("c", datetime(2024, 1, 1, 10, 0, 0, 500000), "orders", "000.json")
    assert [r[3:5] for r in rows[:4]] == [(moment, moment.date())] * 4
    assert [r[5:9] for r in rows] == [told] * 5 and [r[9] for r in rows] == [1, 2, 3, 4, 5]
    assert rows[4][:5] == (9, "a", Decimal("1.50"), moment, None)
    assert (record.rows_in, record.rows_out, record.ignored_rows) == (7, 5, 2)


def _schema(**logical: str) -> dict[str, Any]:
    """Return an envelope's schema with the logical types of columns; a Decimal has the scale 2."""
    fields: list[dict[str, Any]] = []
    for name, type_ in logical.items():
        if type_ == "Decimal":
            full, more = f"org.apache.kafka.connect.data.{type_}", {"parameters": {"scale": "2"}}
        else:
            full, more = f"io.debezium.time.{type_}", {}
        fields.append({"type": "int64", "optional": True, "name": full, "field": name, **more})
    rows = [{"type": "struct", "fields": fields, "field": f} for f in ("before", "after")]
    return {"type": "struct", "fields": [*rows, {"type": "string", "field": "op"}]}


TIMED = "id INT, at TIMESTAMP, day DATE, clock TIME, n NUMERIC(9, 2), raw BYTEA"
OCLOCK, MIDNIGHT = 36_000_000_000, datetime(2024, 1, 1)
TOLD: list[tuple[dict[str, str], dict[str, Any], Sequence[Any] | None]] = [
    ({"at": "Timestamp"}, {"at": 5}, (datetime(1970, 1, 1, 0, 0, 0, 5000),)),
    ({"AT": "MicroTimestamp"}, {"at": 5}, (datetime(1970, 1, 1, 0, 0, 0, 5),)),
    ({"at": "NanoTimestamp"}, {"at": 5000}, (datetime(1970, 1, 1, 0, 0, 0, 5),)),
    ({"at": "ZonedTimestamp"}, {"at": "2024-01-01T01:00:00+01:00"}, (MIDNIGHT,)),
    ({"at": "Date", "day": "Date"}, {"at": 19723, "day": 19723}, (MIDNIGHT, MIDNIGHT.date())),
    ({"clock": "Time"}, {"clock": 36_000_000}, (None, None, OCLOCK)),
    ({"clock": "MicroTime"}, {"clock": OCLOCK}, (None, None, OCLOCK)),
    ({"clock": "NanoTime"}, {"clock": OCLOCK * 1000}, (None, None, OCLOCK)),
    ({}, {"clock": OCLOCK, "day": 0}, (None, date(1970, 1, 1), OCLOCK)),
    ({"n": "Decimal"}, {"n": "1234"}, (None, None, None, Decimal("-26588.24"))),
    ({}, {"n": "1234", "raw": "3q0="}, (None, None, None, Decimal("1234"), b"\xde\xad")),
    ({}, {"raw": "\\xdead"}, (None, None, None, None, b"\xde\xad")),
    ({}, {"clock": 86_400_000_000}, None),
    ({}, {"clock": -1}, None),
    ({"clock": "Time"}, {"clock": 86_400_000}, None),
    ({}, {"clock": "00:30:00+01:00"}, None),
    ({"day": "Timestamp"}, {"day": 19723}, None),
    ({"at": "MicroTime"}, {"at": 5}, None),
    ({"at": "Timestamp"}, {"at": 10**17}, None),
    ({}, {"day": 10**7}, None),
    ({}, {"raw": "?"}, None),
]


def test_the_schema_of_an_envelope_tells_units(site: Site) -> None:
    define(site, "DEBEZIUM", TIMED)
    payloads = [{"op": "c", "after": {"id": i, **cells}} for i, (_, cells, _) in enumerate(TOLD)]
    schemas = [_schema(**told) if told else None for told, _, _ in TOLD]
    land(site, 0, ({"schema": s, "payload": p} for s, p in zip(schemas, payloads, strict=True)))
    with site.connect() as fm:
        record = step(fm)
        found = {r[0]: r[1:6] for r in result(fm).rows}
    wanted = {i: w for i, (_, _, w) in enumerate(TOLD) if w is not None}
    assert found == {i: (*w, *[None] * (5 - len(w))) for i, w in wanted.items()}
    assert record.dead_rows == len(TOLD) - len(wanted)


def test_decimals_as_bytes(site: Site) -> None:
    columns = "id INT, n NUMERIC(10, 2), whole NUMERIC(38, 0)"
    define(site, "DEBEZIUM", columns, more="")
    file = next(site.pipelines.glob("*.sql"))
    mode = "'files', decimal.handling.mode = 'precise'"
    file.write_text(file.read_text().replace("'files'", mode))
    edges = (0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63), 2**64, -(2**64), 10**38 - 1)
    wholes = [*edges, *(random.Random(4).randrange(-(10**e), 10**e) for e in range(1, 38))]
    bad = ["1.5", 1.5, "", "!", _base64(10**10), _base64(2**130), {"scale": 2, "value": "AQ=="}]
    digits = [w % 10**10 for w in wholes]
    good = [
        {"id": i, "n": _base64(n), "whole": _base64(w)}
        for i, (n, w) in enumerate(zip(digits, wholes, strict=True))
    ]
    rows = [*good, *({"id": 99, "n": n, "whole": None} for n in bad)]
    land(site, 0, ({"before": None, "after": r, "op": "c"} for r in rows))
    with site.connect() as fm:
        record = step(fm)
        found = sorted(result(fm).rows)
        reasons = fm.execute("SELECT DISTINCT reason FROM c__dead_letter").rows
        land(site, 1, [{"before": good[0], "after": {**good[0], "n": None}, "op": "u"}])
        assert step(fm).before_differs == 0
    assert [r[:3] for r in found] == [
        (i, Decimal(n).scaleb(-2), Decimal(w))
        for i, (n, w) in enumerate(zip(digits, wholes, strict=True))
    ]
    assert (record.dead_rows, reasons) == (len(bad), (("E0651",),))


def _base64(number: int) -> str:
    size = number.bit_length() // 8 + 1
    return b64encode(number.to_bytes(size, "big", signed=True)).decode()


def test_an_old_row_that_is_not_the_stored_one_is_told_and_not_believed(site: Site) -> None:
    define(site, "DEBEZIUM")
    land(site, 0, [{"before": None, "after": row(i), "op": "c"} for i in (1, 2, 3, 4)])
    with site.connect() as fm:
        assert step(fm).before_differs == 0
        land(site, 1, [
            {"before": row(1), "after": row(1, "b"), "op": "u"},
            {"before": {"id": 2, "name": None}, "after": row(2, "b"), "op": "u"},
            {"before": row(3, "z"), "after": row(3, "b"), "op": "u"},
            {"before": row(4, n="7"), "after": None, "op": "d"},
            {"before": row(5), "after": row(5, "b"), "op": "u"},
        ])  # fmt: skip
        record = step(fm)
        epoch = fm.warehouse.log.head().sealed
        found = result(fm)
        (event,) = fm.warehouse.log.events(epoch)
        assert "3 rows" in event.message and event.object == "c"
    assert record.before_differs == 3
    old = {values[0]: values[1:3] for kind, values in found.changes[epoch] if kind.value[0] == "-"}
    assert old == {i: ("a", Decimal("1.50")) for i in (1, 2, 3, 4)}


def test_upserts_in_both_forms(site: Site) -> None:
    define(site, "UPSERT", "key VARCHAR, id INT, value INT")
    land(site, 0, [
        {"key": "a", "id": 1, "value": 1},
        {"key": {"id": 2}, "value": {"key": "b", "id": 7, "value": 2}},
        {"key": {"ID": 3}, "value": {"key": "c", "Value": 3}},
        {"key": "a", "value": 1},
        {"key": {"name": "x"}, "value": None},
        "null",
    ])  # fmt: skip
    with site.connect() as fm:
        record = step(fm)
        found = result(fm)
        assert sorted(found.rows) == [("a", 1, 1), ("b", 2, 2), ("c", 3, 3)]
        assert [code for dead in found.dead.values() for _, (code,) in dead] == ["E0652"] * 2
        assert (record.rows_in, record.dead_rows, record.ignored_rows) == (6, 2, 1)
        land(site, 1, [{"key": {"id": 2}, "value": None}, {"key": "z", "id": 1, "value": 9}])
        step(fm)
        assert sorted(result(fm).rows) == [("c", 3, 3), ("z", 1, 9)]


def _random_changes(random_: random.Random, count: int) -> list[Any]:
    """Return messages about few keys, some of them nonsense."""
    lines: list[Any] = []
    for _ in range(count):
        old, new = (_random_row(random_) for _ in range(2))
        before = random_.choice([None, old, old, {"id": old["id"]}])
        op = random_.choice("ccrrruuuuuuudddddtx")
        after = None if op == "d" or random_.random() < 0.05 else new
        if random_.random() < 0.6 and before is not None and after is not None:
            after = {**after, "id": before["id"]}
        lines.append({"before": before, "after": after, "op": op})
        if random_.random() < 0.05:
            lines.append("null")
        if random_.random() < 0.3:
            payload = None if lines[-1] == "null" else lines[-1]
            told = [_schema(at=at, day="Date") for at in ("Timestamp", "NanoTimestamp", "Date")]
            schema = random_.choice([None, "text", {"type": "struct"}, *told])
            lines[-1] = {"payload": payload, "schema": schema}
    return lines


def _random_upserts(random_: random.Random, count: int) -> list[Any]:
    """Return rows and messages with them about few keys, some of them nonsense."""
    lines: list[Any] = []
    for _ in range(count):
        row_, other = (_random_row(random_) for _ in range(2))
        value = random_.choice([row_, row_, None, {"n": 1}, "text"])
        message = {"key": {"id": other["id"]}, "value": value}
        odd = random_.choice(
            [{"key": 1, "value": None}, {**message, "more": 1}, "null", "{}", "[]"]
        )
        lines.append(random_.choice([row_, row_, message, message, message, odd]))
    return lines


def _random_row(random_: random.Random) -> dict[str, Any]:
    return {
        "id": random_.choice([1, 2, 3, 4, "5", 6, 7, None, "x"]) if random_.random() < 0.2
        else random_.randrange(1, 8),
        "name": random_.choice(["a", "b", None]),
        "n": random_.choice([1, "2.50", 0.1, None, "?"]) if random_.random() < 0.2 else 3,
        "at": random_.choice(["2024-01-01T10:00:00", 1704103200000, 19723, -(10**11) - 1, None]),
        "day": random_.choice(["2024-01-01", 19723, None]),
    }  # fmt: skip


@pytest.mark.parametrize(("form", "epochs"), [("DEBEZIUM", 3), ("UPSERT", 2)])
def test_random_messages_come_out_as_the_reference_says(site: Site, form: str, epochs: int) -> None:
    define(site, form)
    sql = (site.pipelines / "all.sql").read_text()
    (obj,) = reference_objects(compile_sql(sql))
    schema: Schema = tuple(c for c in obj.schema if not is_hidden(c.name))
    random_ = random.Random(7)
    states: dict[str, ObjectState] = {}
    with site.connect() as fm:
        for number in range(epochs):
            lines = (_random_changes if form == "DEBEZIUM" else _random_upserts)(random_, 30)
            land(site, number, lines)
            record = step(fm)
            texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            read = [parse_message(t, form, schema, ("id",)) for t in texts]
            changes = [Delivery(*c) for m in read if not isinstance(m, RefusedMessage) for c in m]
            states, results = advance([obj], states, EpochInput(NOW, {"c": changes}))
            found = result(fm)
            epoch = fm.warehouse.log.head().sealed
            mine = Counter((kind, values) for kind, values in found.changes.get(epoch, []))
            theirs = _counted(results["c"].changes, schema)
            assert mine == theirs, number
            dead = Counter(code for _, (code,) in found.dead.get(epoch, []))
            refused = Counter(f"E{m.code:04}" for m in read if isinstance(m, RefusedMessage))
            refused.update({"E0652": len(results["c"].dead)})
            assert dead == +refused, number
            changed = len({values[0] for _, values in mine})
            assert record.rows_in == changed + record.ignored_rows + record.dead_rows
        outcomes = run_checks(fm.warehouse, reports(fm.warehouse, {}), {})["c"]
        # Some of the drawn fields are no columns: a warning, which is not looked at here.
        assert all(o.is_passed or o.check == FIELDS for o in outcomes), outcomes


def _counted(changes: Sequence[Any], schema: Schema) -> Counter[Any]:
    return Counter((kind, tuple(row[c.name] for c in schema)) for kind, row in changes)


PROMISED = """
CREATE SOURCE p (id INT, v INT, PRIMARY KEY (id))
WITH (connector = 'files', path = '{landing}/p') FORMAT PLAIN ENCODE JSON;
CREATE MATERIALIZED VIEW joined AS SELECT c.id, name, v FROM c JOIN p ON c.id = p.id;
"""
POINTS = ("files_written", "dead_letter_committed", "view_committed")


@pytest.mark.parametrize(
    "points", [("first_table_committed",), pytest.param(POINTS, marks=pytest.mark.long)]
)
def test_what_is_cut_short_is_done_once(site: Site, points: tuple[str, ...]) -> None:
    """Wherever an epoch stops, the next run ends it as if it had not; and so does a replay."""
    define(site, "DEBEZIUM")
    site.define((site.pipelines / "all.sql").read_text(), PROMISED)
    (site.landing / "p").mkdir()
    land(site, 0, [{"before": None, "after": row(i), "op": "c"} for i in range(4)])
    land(site, 1, [{"id": i, "v": i} for i in range(3)], "p")
    with site.connect() as fm:
        fm.advance(now=NOW)
    moved = {"before": row(1), "after": row(7), "op": "u"}
    land(site, 2, [moved, {"before": row(2), "after": None, "op": "d"}, *(b for b, _ in BAD[:2])])
    land(site, 3, [{"id": 3, "v": 3}, {"id": 1, "v": 9}], "p")
    for point in points:
        site.copy("warehouse", point)
    with site.connect() as fm:
        (epoch,) = fm.advance(now=NOW)
        assert (epoch.objects["c"].dead_rows, epoch.objects["p"].dead_rows) == (2, 1)
        replayed = fm.replay()
        assert {r.object: r.result for r in replayed} == dict.fromkeys(["c", "p", "joined"], "same")
    expected = digests(site.root / "warehouse")
    for point in points:
        with site.connect(point) as fm:
            with dying_at(point):
                fm.advance(now=NOW)
            fm.advance(now=NOW)
        assert digests(site.root / point) == expected, point
