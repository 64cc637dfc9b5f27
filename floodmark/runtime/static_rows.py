"""Tables `WITH (static = 'true')`: their rows change only while nothing has looked them up."""

from __future__ import annotations

from collections.abc import Iterator

from floodmark.analysis.pipeline import AnalysedObject
from floodmark.errors import BindError, Span
from floodmark.plan import nodes as n
from floodmark.runtime.current import stored_rows
from floodmark.runtime.query import Reader


def check_static(target: AnalysedObject, reader: Reader, span: Span | None) -> None:
    """Raise E0237 for a change of a static table in which rows that are there were looked up.

    What was found for them is not stored: they would be taken back as they never were. Who looks
    them up may be suspended: it will do so in the epochs that it missed, at the table as it was. Of
    an object that is behind itself nobody knows yet which rows it would have.
    """
    if not target.relation.static:
        return
    for name, left in _lookups(target.key, reader):
        record = reader.cut.records.get(left)
        if stored_rows(reader.tables.store, reader.pipeline[left], record):
            why, first = f"{name} has looked rows of {left} up in it", ""
        elif record is None or record.position < reader.cut.epoch:
            why = f"{name} looks rows of {left} up in it, which is behind"
            first = f"bring {left} up to date first (ALTER … RESUME, or a run); or "
        else:
            continue
        raise BindError(
            "E0237",
            f"{target.name} promises never to change (static), and {why}",
            span=span,
            hint=f"{first}drop {name}, change the table, and create {name} again; or create the "
            "table without static: what is found is stored then, where that is needed",
        )


def _lookups(key: str, reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield who looks rows up in a table, with each object that the rows come from."""
    for found in reader.pipeline.objects.values():
        for node in () if found.plan is None else found.plan.nodes:
            if isinstance(node, n.LookupJoin) and key in {s.object for s in n.scans(node.right)}:
                yield from ((found.name, scan.object) for scan in _sources(node.left))


def _sources(node: n.Node) -> Iterator[n.Scan]:
    """Yield what rows come from: what is looked up on their way adds none."""
    if isinstance(node, n.Scan):
        yield node
    inputs = (node.left,) if isinstance(node, n.LookupJoin) else node.inputs
    for child in inputs:
        yield from _sources(child)
