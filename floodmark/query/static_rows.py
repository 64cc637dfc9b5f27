"""Tables `WITH (static = 'true')`: rows can change only while no view has looked them up."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.query.query import Reader
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.tables.current import count_rows


def check_static(target: AnalysedObject, reader: Reader, span: Span | None) -> None:
    """Raise E0237 for a change of a static table if existing rows of a view have looked it up.

    Results of these lookups are not stored, so rows would be retracted with other values than they
    were emitted with. A suspended view will look up for its missed epochs in the table as of then.
    Nobody knows yet whether an object that is behind will have rows.
    """
    if not target.relation.static:
        return
    for name, left in _lookups(target.key, reader):
        read = dict.fromkeys(scan.object for scan in n.scans(left))
        held = [key for key in read if _holds(key, reader)]
        late = [key for key in read if _is_behind(key, reader)]
        if not _gives_rows(left, {*held, *late}):
            continue
        if _gives_rows(left, held):
            of, first = f" of {', '.join(held)}" if held else "", ""
            why = f"{name} has looked rows{of} up in it"
        else:
            why = f"{name} looks rows of {', '.join(late)} up in it, which is behind"
            first = f"bring {late[0]} up to date first (ALTER … RESUME, or a run); or "
        raise BindError(
            "E0237",
            f"{target.name} promises never to change (static), and {why}",
            span=span,
            hint=f"{first}drop {name}, change the table, and create {name} again; or create the "
            "table without static: results of lookups are then stored where necessary",
        )


def _holds(key: str, reader: Reader) -> bool:
    obj, record = reader.pipeline[key], reader.cut.records.get(key)
    return bool(count_rows(reader.tables.store, obj, record))


def _is_behind(key: str, reader: Reader) -> bool:
    record = reader.cut.records.get(key)
    return record is None or record.position < reader.cut.epoch


def _lookups(key: str, reader: Reader) -> Iterator[tuple[str, n.Node]]:
    """Yield each object that looks rows up in a table, with the node that gives the rows."""
    for obj in reader.pipeline.objects.values():
        for node in () if obj.plan is None else obj.plan.nodes:
            if n.is_lookup(node) and key in {s.object for s in n.scans(node.right)}:
                yield obj.name, node.left


def _gives_rows(node: n.Node, holding: Collection[str]) -> bool:
    """Tell whether there can be rows when these objects hold some."""
    below = [_gives_rows(child, holding) for child in node.inputs]
    return node.object in holding if isinstance(node, n.Scan) else node.may_give(below)
