"""Former formats of records: each is read as the newest by its steps, and nothing is rewritten."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from floodmark.errors import DataError
from floodmark.scalar.types import BIGINT, Field
from floodmark.storage.logs.catalog import CatalogLog
from floodmark.storage.logs.epochs import EpochLog, ObjectRecord
from floodmark.storage.logs.record_kinds import KINDS
from floodmark.storage.logs.retention import KeptEpochs, Retention
from floodmark.storage.records import bodies as record_bodies, text as records, upgrades
from floodmark.storage.records.text import Record, new_id, number_in, record_text, to_text
from floodmark.storage.records.upgrades import FORMAT, STEPS, Json
from floodmark.storage.stores.memory import MemoryStore
from floodmark.tables.tables import Writer

NOW = datetime(2024, 1, 1, tzinfo=UTC)
SHAPES = Path(__file__).with_name("record_shapes.json")
SAID = ObjectRecord("t", {"_rows/public/t": 1}, rows_out=7)
Shapes = Mapping[str, Mapping[str, Sequence[Any]]]


def renamed(body: Json, before: str, after: str) -> Json:
    """Return a body in which a field is called otherwise."""
    return {after if name == before else name: value for name, value in body.items()}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let two more steps lead to the kinds of today: two formats called fields otherwise."""
    steps = {
        **STEPS,
        FORMAT: {
            "KeptEpochs": lambda body: renamed(body, "first", "from"),
            "ObjectRecord": lambda body: renamed(body, "written", "rows_out"),
        },
        FORMAT + 1: {"KeptEpochs": lambda body: renamed(body, "from", "oldest")},
    }
    record_bodies._reader.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(upgrades, "STEPS", steps)
        for module in (upgrades, records):
            patch.setattr(module, "FORMAT", len(steps))
        yield
    record_bodies._reader.cache_clear()


def write(root: Path, name: str, body: Json, format: int) -> Path:
    """Write a record in a format; that of format 0 has no envelope."""
    path = root / "_floodmark" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    record = Record(body, number_in(path.name) or 0, new_id(), format)
    path.write_text(record_text(path.name, record) if format else to_text(body))
    return path


@pytest.mark.parametrize(
    ("format", "field"),
    [*((n, "first") for n in range(FORMAT + 1)), (FORMAT + 1, "from"), (FORMAT + 2, "oldest")],
)
def test_a_record_goes_through_the_steps_from_its_format_on(
    tmp_path: Path, planted: None, format: int, field: str
) -> None:
    path = write(tmp_path, "kept.json", {field: 4, "cleaned_at": NOW}, format)
    before = path.read_bytes()
    assert Retention(tmp_path).kept_epochs() == KeptEpochs(4, NOW)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("format", "field"), [(FORMAT + 1, "first"), (FORMAT + 2, "first"), (FORMAT + 2, "from")]
)
def test_a_step_is_not_taken_from_another_format(
    tmp_path: Path, planted: None, format: int, field: str
) -> None:
    write(tmp_path, "kept.json", {field: 4, "cleaned_at": NOW}, format)
    with pytest.raises(DataError, match="E04"):
        Retention(tmp_path).kept_epochs()


def test_a_format_after_the_newest_is_refused(tmp_path: Path, planted: None) -> None:
    write(tmp_path, "kept.json", {"oldest": 4, "cleaned_at": NOW}, FORMAT + 3)
    with pytest.raises(DataError, match=rf"E0430.*format {FORMAT + 3}.*up to {FORMAT + 2}"):
        Retention(tmp_path).kept_epochs()


@pytest.mark.parametrize("format", range(FORMAT + 3))
def test_a_part_of_a_record_has_its_own_steps(tmp_path: Path, planted: None, format: int) -> None:
    part = asdict(SAID) if format > FORMAT else renamed(asdict(SAID), "rows_out", "written")
    seal = {"epoch": 1, "sealed_at": NOW, "objects": {"t": part}, "suspended": {}}
    write(tmp_path, "epochs/0/1.seal.json", seal, format)
    write(tmp_path, "epochs/0/1.advanced-000000.json", {"objects": [part]}, format)
    log = EpochLog(tmp_path)
    assert log.seal_record(1).objects == log.partial_records(1) == {"t": SAID}


def test_a_commit_tells_the_record_of_its_object_in_its_own_format(
    tmp_path: Path, planted: None
) -> None:
    store = MemoryStore(tmp_path)
    tables: Any = SimpleNamespace(store=store)
    writer = Writer(tables, "t", 1, {"record": "one"})
    told = to_text(renamed(asdict(SAID), "rows_out", "written"))
    writer.commit("_rows/public/t", (Field("k", BIGINT),), note=told)
    assert writer.find_record("_rows/public/t") == SAID


@pytest.mark.parametrize(
    "body", [{"dml": 7}, {"dml": [{}]}, {"dml": [{"paths": [7]}]}, {"dml": [7]}]
)
def test_what_is_not_of_its_former_format_is_damaged(tmp_path: Path, body: Json) -> None:
    said = {"epoch": 1, "now": NOW, "catalog_version": 1, "opened_at": NOW, **body}
    write(tmp_path, "epochs/0/1.open.json", said, 0)
    with pytest.raises(DataError, match="E0409"):
        EpochLog(tmp_path).open_record(1)


def test_format_0_had_absolute_paths_of_statements_rows(tmp_path: Path) -> None:
    paths = ["/old/_floodmark/dml/t-1/a.parquet", "/x/b.parquet"]
    entry = {"table": "public.t", "paths": paths, "rows": 1, "start": 0}
    opened = {"epoch": 1, "now": NOW, "catalog_version": 1, "opened_at": NOW, "dml": [entry]}
    version = {"version": 1, "epoch": 1, "statements": [], "applied_at": NOW, "dml": [entry]}
    write(tmp_path, "epochs/0/1.open.json", opened, 0)
    write(tmp_path, "catalog/00000001.json", version, 0)
    expected = [f"{tmp_path}/_floodmark/dml/t-1/a.parquet", "/x/b.parquet"]
    assert EpochLog(tmp_path).open_record(1).dml[0] == {**entry, "paths": expected}
    assert CatalogLog(tmp_path).get(1).dml[0]["paths"] == expected


def test_steps_count_on_and_are_of_kinds_that_there_are() -> None:
    assert [*STEPS] == [*range(FORMAT)]
    known = shapes()
    assert all(kind in known for steps in STEPS.values() for kind in steps)


def test_what_records_say_has_not_changed_without_a_step() -> None:
    """A field that is new and may be missing is added to the file; else a format begins anew.

    Then the file is that of the new format. One version is read by the next one by it alone.
    """
    kept, now = json.loads(SHAPES.read_text()), shapes()
    assert kept["format"] == FORMAT, "write the shapes of the new format"
    for kind, columns in kept["kinds"].items():
        for name, (type_, needed) in columns.items():
            assert now.get(kind, {}).get(name) == [type_, needed], f"{kind}.{name} needs a step"
    for kind, found in now.items():
        added = {n: s for n, s in found.items() if n not in kept["kinds"].get(kind, {})}
        assert kind not in kept["kinds"] or not any(needed for _, needed in added.values()), kind
        assert not added, f"add {added} of {kind} to {SHAPES.name}"


def shapes() -> Shapes:
    """Return each kind of record, and of part of one: the type of each field, and if it must be."""
    found: dict[type, dict[str, list[Any]]] = {}
    for _, kind in KINDS:
        _spell(kind, found)
    out = {kind.__name__: columns for kind, columns in found.items()}
    assert len(out) == len(found), "a step goes by the name of its kind"
    return dict(sorted(out.items()))


def _spell(kind: Any, into: dict[type, dict[str, list[Any]]]) -> str:
    """Return how a type is called, and put what it consists of into a dict."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _spell(args[1], into)
    if args:
        parts = [a if isinstance(a, str) else "…" if a is ... else _spell(a, into) for a in args]
        if origin in (Union, UnionType):
            return " | ".join(parts)
        return f"{getattr(origin, '__name__', '')}[{', '.join(parts)}]"
    if (is_dataclass(kind) or is_typeddict(kind)) and kind not in into:
        hints = get_type_hints(kind, include_extras=True)
        free = _optional(kind) if is_dataclass(kind) else kind.__optional_keys__
        into[kind] = {}
        into[kind] |= {name: [_spell(hint, into), name not in free] for name, hint in hints.items()}
    return str(getattr(kind, "__name__", kind))


def _optional(kind: Any) -> set[str]:
    none = MISSING
    return {f.name for f in fields(kind) if not f.default is f.default_factory is none}
