"""Joins, set operations and lookups."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from floodmark.changelog import LEFT_ROW, is_hidden
from floodmark.plan import nodes as n
from floodmark.plan.expr.expressions import Literal
from floodmark.plan.expr.injective import injective_column
from floodmark.reference.moment import Moment
from floodmark.reference.rows import Key, Row, freeze, key_of, unique_columns

Partners = Mapping[Any, list[tuple[int, Row]]]
"""Rows with their positions, by key."""


def join(node: n.Pairing, left: Sequence[Row], right: Sequence[Row], moment: Moment) -> list[Row]:
    """Return the pairs, padded or reduced as the kind says; NULL keys never meet.

    A pair whose residual condition fails goes to the dead letters and counts as a match.
    """
    if node.only_existence:
        # Which row it is does not matter: there is one question for each left row.
        right = [_nulls(node.right)] if right else []
    partners = _group_by_key(right, tuple(b for _, b in node.equi))
    matched: set[int] = set()
    out: list[Row] = []
    for row in left:
        key = key_of(row, tuple(a for a, _ in node.equi))
        matches = [p for p in partners.get(key, ()) if _touches(node, {**row, **p[1]}, moment)]
        matched.update(position for position, _ in matches)
        pairs: list[Row] = [{**row, **p} for _, p in matches]
        out += _select_pairs(node, row, pairs, bool(matches), moment)
    if node.kind.pads_left:
        lone = (row for position, row in enumerate(right) if position not in matched)
        out += [{**_nulls(node.left), **row} for row in lone]
    return out


def lookup(
    node: n.LookupJoin,
    left: Sequence[Row],
    right: Sequence[Row],
    key: tuple[str, ...],
    moment: Moment,
) -> list[Row]:
    """Return each left row with what the right side had for it when it came, or last changed.

    A right side that promises never to change is joined as it is.
    """
    if node.static:
        return join(node, left, right, moment)
    partners = _group_by_key(right, tuple(b for _, b in node.equi))
    out: list[Row] = []
    for row in left:
        asked = key_of(row, tuple(a for a, _ in node.equi))
        then = moment.recall(node, row, key, partial(_partners_of, partners, asked))
        out += join(node, [row], [partner for _, partner in then], moment)
    return out


def pair_key(node: n.Pairing, left: Key, right: Key) -> Key:
    """Return what tells pairs apart: both rows, or one of them where that has one partner at most.

    Of two columns that are equal in every pair one is enough, on a side that is never padded. Pairs
    of a row that was looked up do not tell it apart: it may have changed in between.
    """
    kind = node.kind
    if kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return left
    ours, theirs = (tuple(pair[side] for pair in node.equi) for side in (0, 1))
    if not kind.pads_left and _settle(node.right, theirs, right):
        return left
    if not (kind.pads_right or node.LOOKS_UP) and _settle(node.left, ours, left):
        return right
    if kind is n.JoinKind.FULL:
        return unique_columns(_row_of_left_side(node.left), left, right, *node.equi)
    if kind is n.JoinKind.RIGHT:
        same = dict(zip(ours, theirs, strict=True))
        return unique_columns((same.get(c, c) for c in left), right, theirs)
    same = dict(zip(theirs, ours, strict=True))
    return unique_columns(left, (same.get(c, c) for c in right), ours)


def _settle(node: n.Node, columns: Key, key: Key) -> bool:
    """Tell whether rows with equal values in some columns are one row, as these tell its key."""
    known = {_origin(node, column) for column in columns}
    return all(_origin(node, column) in known for column in key)


def _origin(node: n.Node, column: str) -> tuple[int, str]:
    """Return how far below, and of which name, a column is that has a value for each of another."""
    depth = 0
    while isinstance(node, n.Project):
        below = injective_column(dict(node.columns)[column])
        if below is None:
            break
        node, column, depth = node.input, below, depth + 1
    return depth, column


def _row_of_left_side(left: n.Node) -> Key:
    """Return the column, if there is one, that has a value in rows with a left row alone."""
    columns = left.columns if isinstance(left, n.Project) else ()
    notes = (c for c, e in columns if c.startswith(LEFT_ROW) and isinstance(e, Literal))
    return tuple(notes)[:1]


def _partners_of(partners: Partners, key: Any) -> list[tuple[int, Row]]:
    return partners.get(key, [])


def _select_pairs(
    node: n.Pairing, row: Row, pairs: list[Row], matched: bool, moment: Moment
) -> list[Row]:
    match node.kind:
        case n.JoinKind.SEMI:
            return [row] if any(_holds(node, pair, moment) for pair in pairs) else []
        case n.JoinKind.ANTI:
            return [] if matched else [row]
        case _:
            kept = [pair for pair in pairs if _holds(node, pair, moment)]
            if matched or not node.kind.pads_right:
                return kept
            return [{**row, **_nulls(node.right)}]


def _touches(node: n.Pairing, pair: Row, moment: Moment) -> bool:
    """Tell whether the pair counts as a match: the condition is TRUE, or has no value."""
    if node.residual is None:
        return True
    value, error = moment.value(node.residual, pair)
    if error is not None:
        moment.bury(node, error, pair)
    return error is not None or value is True


def _holds(node: n.Pairing, pair: Row, moment: Moment) -> bool:
    return node.residual is None or moment.value(node.residual, pair) == (True, None)


def _group_by_key(
    rows: Iterable[Row], columns: tuple[str, ...]
) -> dict[Any, list[tuple[int, Row]]]:
    out: dict[Any, list[tuple[int, Row]]] = defaultdict(list)
    for position, row in enumerate(rows):
        key = key_of(row, columns)
        if None not in key:
            out[key].append((position, row))
    return out


def _nulls(node: n.Node) -> dict[str, None]:
    return dict.fromkeys(node.names)


def set_operation(node: n.SetOperation, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """Return INTERSECT or EXCEPT by count; columns meet by position, NULL equals NULL.

    With ALL the copies of a row are numbered from 1.
    """
    names = [c for c in node.left.names if not is_hidden(c)]
    others = [c for c in node.right.names if not is_hidden(c)]
    firsts = [{c: r[c] for c in names} for r in left]
    seconds = [dict(zip(names, (r[c] for c in others), strict=True)) for r in right]
    ours, theirs = Counter(map(freeze, firsts)), Counter(map(freeze, seconds))
    out: list[Row] = []
    for frozen, count in ours.items():
        other = theirs[frozen]
        if node.kind is n.SetKind.INTERSECT:
            times = min(count, other) if node.all else min(1, other)
        else:
            times = max(count - other, 0) if node.all else int(other == 0)
        copies: list[Row] = [{node.copy: i} if node.all else {} for i in range(1, times + 1)]
        out += [{**dict(frozen), **copy} for copy in copies]
    return out
