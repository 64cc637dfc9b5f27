"""Texts and values of a file that COPY reads, as columns of the table's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from floodmark.scalar.casts import cast_value
from floodmark.scalar.functions import RowError
from floodmark.scalar.types import UNKNOWN, Kind, SqlType
from floodmark.spark.user_functions import arrow_type, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

TypesByName = Mapping[str, SqlType]
_WHOLE, _NUMBER = r"^-?[0-9]{1,18}$", r"^-?[0-9]{1,36}(\.[0-9]{1,36})?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = rf"{_DATE}[ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,6}})?$"
_PLAIN = {
    **dict.fromkeys((Kind.SMALLINT, Kind.INT, Kind.BIGINT), _WHOLE),
    **dict.fromkeys((Kind.NUMERIC, Kind.DOUBLE), _NUMBER),
    Kind.DATE: f"{_DATE}$",
    **dict.fromkeys((Kind.TIMESTAMP, Kind.TIMESTAMPTZ), _MOMENT),
}
"""The spellings that Arrow reads as the engine does, by kind."""
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The days of the years 1 to 9999, counted from 1970 on."""
_DAY_MICROS = 86_400_000_000


class NoValue(Exception):
    """A value that its column's type does not hold, by its place in its piece, from 0 on."""

    def __init__(self, place: int, why: str) -> None:
        super().__init__(why)
        self.place = place
        self.why = why


def parse_texts(texts: pa.Array, type_: SqlType) -> pa.Array:
    """Return the values of a type that texts stand for, NULL for NULL.

    Raises `NoValue` for the first text that stands for none.
    """
    import pyarrow as pa
    from pyarrow import compute as pc

    pattern = _PLAIN.get(type_.kind)
    if type_.kind is Kind.VARCHAR:
        return texts
    if pattern is not None and pc.all(pc.match_substring_regex(texts, pattern)).as_py() in (
        True,
        None,
    ):
        try:
            found = texts
            if type_.kind is Kind.TIMESTAMPTZ:
                found = texts.cast(pa.timestamp("us"))
            return check_years(found.cast(arrow_type(type_)))
        except (pa.ArrowInvalid, NoValue):
            # Some value is out of range, or is rounded: that is said, or done, one by one.
            pass
    return _parse_each(texts, type_)


def _parse_each(texts: pa.Array, type_: SqlType) -> pa.Array:
    """Read each text that differs once."""
    import pyarrow as pa

    encoded = texts.dictionary_encode()
    values = []
    for i, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            values.append(to_arrow(cast_value(text, UNKNOWN, type_), type_))
        except RowError:
            place = encoded.indices.index(i).as_py()
            raise NoValue(place, f"'{shorten(text)}' is not a value of type {type_}") from None
    return pa.array(values, arrow_type(type_)).take(encoded.indices)


def cast_values(values: pa.Array, type_: SqlType) -> pa.Array:
    """Return values of a file that has types as values of another one, where none is lost.

    Raises `NoValue` for the first that would be.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = values.type
    if types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return parse_texts(values.cast(pa.string()), type_)
    if kind == arrow_type(type_):
        return check_years(values)
    try:
        return check_years(values.cast(arrow_type(type_)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise NoValue(_first_lost(values, arrow_type(type_)), str(error)) from None


def check_years(values: pa.Array) -> pa.Array:
    """Return dates or moments of the years 1 to 9999, and any other values, as they are."""
    from pyarrow import compute as pc, types

    kind, length = values.type, 1
    if types.is_timestamp(kind):
        length = _DAY_MICROS
    elif not types.is_date32(kind):
        return values
    raw = values.view("int64" if length > 1 else "int32")
    ends = pc.min_max(raw)
    first, after = FIRST_DAY * length, (LAST_DAY + 1) * length
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or (low >= first and high < after):
        return values
    beyond = pc.or_(pc.less(raw, first), pc.greater_equal(raw, after))
    raise NoValue(beyond.index(True).as_py(), "the years are 1 to 9999")


def _first_lost(values: pa.Array, type_: pa.DataType) -> int:
    """Return the place of the first value that a type does not hold."""
    import pyarrow as pa

    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            values.slice(low, middle - low).cast(type_)
            low = middle
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low


def shorten(text: str) -> str:
    """Return a text as a message shows it."""
    return text if len(text) <= 40 else text[:37] + "..."


def table_of(names: Sequence[str], values: Sequence[Sequence[Any]], types: TypesByName) -> pa.Table:
    """Return columns of engine values."""
    import pyarrow as pa

    arrays = [
        pa.array([to_arrow(v, types[name]) for v in column], arrow_type(types[name]))
        for name, column in zip(names, values, strict=True)
    ]
    return pa.table(arrays, names=list(names))
