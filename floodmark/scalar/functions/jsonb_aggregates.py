"""Aggregates that make JSONB: the binder turns values into JSONB before they come here."""

from __future__ import annotations

from typing import Any

from floodmark.scalar.functions.model import AggregateFunction, SetRows, Types, Var
from floodmark.scalar.json_text import dump_json, parse_json
from floodmark.scalar.types import JSONB, Kind, SqlType

_ITEMS = "CASE WHEN size({list}) > 0 THEN concat('[', array_join({list}, ',', 'null'), ']') END"
_ENTRIES = "array_sort(transform({list}, (x, i) -> named_struct('k', x.f1, 'i', i, 't', x.f2)))"
# Of fields that come twice the last counts; an entry is the text of an object of one field.
_LAST = "filter(e, (x, i) -> coalesce(get(e, i + 1).k <> x.k, TRUE))"
_FIELDS = f"array_join(transform({_LAST}, x -> substring(x.t, 2, length(x.t) - 2)), ',')"
_OBJECT = (
    f"transform(array({_ENTRIES}), e -> "
    f"CASE WHEN size(e) > 0 THEN concat('{{{{', {_FIELDS}, '}}}}') END)[0]"
)


def _items(rows: SetRows, _: Types, __: SqlType) -> str | None:
    return dump_json([parse_json(v or "null") for (v,) in rows]) if rows else None


def _object(rows: SetRows, _: Types, __: SqlType) -> str | None:
    fields: dict[str, Any] = {}
    for ((_key, entry),) in rows:
        fields.update(parse_json(entry))
    return dump_json(fields) if rows else None


def jsonb_aggregates() -> list[AggregateFunction]:
    """Return `jsonb_agg(value)` and `jsonb_object_agg((key, object of one field))`."""
    return [
        AggregateFunction(
            "jsonb_agg", (Kind.JSONB,), JSONB, "", _items, order_sensitive=True, over_list=_ITEMS
        ),
        AggregateFunction(
            "jsonb_object_agg", (Var.STRUCT,), JSONB, "", _object, order_sensitive=True,
            over_list=_OBJECT,
        ),
    ]  # fmt: skip
