"""Casts as Spark SQL text: the value, NULL where there is none, and the row's error."""

from __future__ import annotations

from floodmark.scalar import casts as texts
from floodmark.scalar.functions.datetime import print_interval
from floodmark.scalar.functions.intervals import DAY_MICROS
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.scalar.functions.quoting import quote
from floodmark.scalar.functions.years import null_outside_years
from floodmark.scalar.json_text import ENDLESS_OR_ZERO
from floodmark.scalar.promotion import bounds
from floodmark.scalar.types import Kind, SqlType, is_bare, numeric
from floodmark.spark.json_text import is_lost, jsonb
from floodmark.spark.types import spark_type

_RANGE = RowErrorCode.NUMBER_OUT_OF_RANGE.value
_TEXT = RowErrorCode.INVALID_TEXT.value
_WHOLE = (Kind.SMALLINT, Kind.INT, Kind.BIGINT)
_FLOATS = (Kind.REAL, Kind.DOUBLE)
_BACKSLASH = quote("\\")
_PIECES = quote(rf"{texts.BYTE_ESCAPE}|[^\\]+")
_MORE_DECIMALS = quote(texts.MORE_DECIMALS)
_POWER = quote("[eE]([+-]?[0-9]+)")
_ZERO = quote(ENDLESS_OR_ZERO)
_TINY = quote("[eE]-0*[1-9][0-9]{4,}")
_FRACTION = quote("[.]([0-9]*)")
_WHOLE_ZEROS = quote(r"[0-9]*?(0*)([.]0*)?\s*$")
CastTexts = tuple[str, str | None]


def print_cast(value: str, source: SqlType, target: SqlType) -> CastTexts:
    """Return the value text and the error text (or None) of a cast."""
    if source == target:
        return value, None
    if target.kind is Kind.VARCHAR:
        return _to_text(value, source), None
    if source.kind is Kind.VARCHAR:
        return _from_text(value, target)
    name = spark_type(target)
    match source.kind, target.kind:
        case (Kind.LIST, Kind.LIST):
            return _list(value, source, target)
        case (Kind.STRUCT, Kind.STRUCT):
            return _struct(value, source, target)
        case ((Kind.TIMESTAMP | Kind.TIMESTAMPTZ), Kind.TIME):
            return f"pmod(unix_micros(CAST({value} AS TIMESTAMP_LTZ)), {DAY_MICROS})", None
        case Kind.TIME, Kind.INTERVAL:
            return print_interval(f"{value} IS NOT NULL", "0", "0", value), None
        case Kind.INTERVAL, Kind.TIME:
            return f"pmod({value}.micros, {DAY_MICROS})", None
        case _ if target.is_numeric and source.is_numeric:
            return _number(value, source, target)
        case _:
            return f"CAST({value} AS {name})", None


def _failing(value: str, result: str, code: int) -> CastTexts:
    return result, f"CASE WHEN {result} IS NULL AND {value} IS NOT NULL THEN {code} END"


def _number(value: str, source: SqlType, target: SqlType) -> CastTexts:
    name = spark_type(target)
    if target.kind in _FLOATS:
        return f"CAST({value} AS {name})", None
    if source.kind in _FLOATS:
        if target.kind is Kind.NUMERIC:
            digits = f"format_string('%.5e', {value})" if source.kind is Kind.REAL else value
            result = f"try_cast({digits} AS {name})"
            if is_bare(target):
                result = f"CASE WHEN {value} = 0 OR {result} <> 0 THEN {result} END"
            return _failing(value, result, _RANGE)
        # 2^63 would be taken for the largest BIGINT.
        below = f"CASE WHEN {value} < 9223372036854775807D THEN rint({value}) END"
        rounded = below if target.kind is Kind.BIGINT else f"rint({value})"
        return _failing(value, f"try_cast({rounded} AS {name})", _RANGE)
    if is_bare(target) and bounds(source)[1] > bounds(target)[1]:
        result, back = f"try_cast({value} AS {name})", spark_type(source)
        kept = f"CASE WHEN try_cast({result} AS {back}) = {value} THEN {result} END"
        return _failing(value, kept, _RANGE)
    if _fits(source, target):
        return f"CAST({value} AS {name})", None
    if source.kind is Kind.NUMERIC and target.kind in _WHOLE:
        precision, scale = bounds(source)
        rounded = value if scale == 0 else f"round({value}, 0)"
        if precision == scale:
            rounded = f"round(CAST({value} AS DECIMAL(38,{min(scale, 37)})), 0)"
        return _failing(value, f"try_cast({rounded} AS {name})", _RANGE)
    return _failing(value, f"try_cast({value} AS {name})", _RANGE)


def _fits(source: SqlType, target: SqlType) -> bool:
    """Tell whether every value of the source has a place in the target."""
    if source.kind in _WHOLE and target.kind in _WHOLE:
        return _WHOLE.index(source.kind) <= _WHOLE.index(target.kind)
    if target.kind is not Kind.NUMERIC:
        return False
    (p1, s1), (p2, s2) = bounds(source), bounds(target)
    # Rounding to fewer decimals can need one whole digit more.
    return p1 - s1 + (1 if s1 > s2 else 0) <= p2 - s2


def _list(value: str, source: SqlType, target: SqlType) -> CastTexts:
    assert source.element is not None and target.element is not None
    inner, error = print_cast("e", source.element, target.element)
    result = f"transform({value}, e -> {inner})"
    if error is None:
        return result, None
    failed = f"array_min(transform({value}, e -> {error}))"
    return f"CASE WHEN {failed} IS NULL THEN {result} END", failed


def _struct(value: str, source: SqlType, target: SqlType) -> CastTexts:
    parts, errors = [], []
    for old, new in zip(source.fields, target.fields, strict=True):
        inner, error = print_cast(f"{value}.`{old.name}`", old.type, new.type)
        parts.append(f"{quote(new.name)}, {inner}")
        errors += [] if error is None else [error]
    result = f"CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END"
    if not errors:
        return result, None
    error = errors[0] if len(errors) == 1 else f"least({', '.join(errors)})"
    return f"CASE WHEN ({error}) IS NULL THEN {result} END", error


def _float_text(value: str, single: bool) -> str:
    """Print Java's shortest digits in PostgreSQL's layout."""
    text, high = f"CAST({value} AS STRING)", "1e6" if single else "1e15"
    plain = f"CAST(CAST({text} AS DECIMAL(38,21)) AS STRING)"
    mantissa = f"regexp_replace(substring_index({text}, 'E', 1), '[.]0$', '')"
    power = f"CAST(substring_index({text}, 'E', -1) AS INT)"
    sign = f"CASE WHEN {power} < 0 THEN 'e-' ELSE 'e+' END"
    science = f"concat({mantissa}, {sign}, format_string('%02d', abs({power})))"
    # Java writes 1e6 <= x < 1e7 plainly; REAL there needs the scientific form.
    shifted = f"format_string('%.6e', {value})"
    middle = f"regexp_replace({shifted}, '[.]?0+e', 'e')"
    small = f"WHEN abs({value}) < 1e7D THEN {middle} " if single else ""
    return (
        f"CASE WHEN isnan({value}) OR abs({value}) = CAST('Infinity' AS DOUBLE) THEN {text} "
        f"WHEN {value} = 0 THEN regexp_replace({text}, '[.]0$', '') "
        f"WHEN abs({value}) >= 1e-4D AND abs({value}) < {high}D THEN regexp_replace({plain}, '[.]?0+$', '') "  # noqa: E501
        f"WHEN abs({value}) < 1 THEN {science} {small}ELSE {science} END"
    )


def _time_text(micros: str) -> str:
    seconds = f"({micros} DIV 1000000)"
    clock = f"format_string('%02d:%02d:%02d', {seconds} DIV 3600, {seconds} DIV 60 % 60, {seconds} % 60)"  # noqa: E501
    fraction = f"regexp_replace(format_string('.%06d', {micros} % 1000000), '[.]?0+$', '')"
    return f"CASE WHEN {micros} IS NOT NULL THEN concat({clock}, {fraction}) END"


def _interval_text(v: str) -> str:
    def unit(amount: str, word: str, before: str) -> str:
        plus = f"CASE WHEN {before} AND {amount} > 0 THEN '+' ELSE '' END"
        plural = f"CASE WHEN {amount} = 1 THEN '' ELSE 's' END"
        return f"CASE WHEN {amount} <> 0 THEN concat({plus}, CAST({amount} AS STRING), ' {word}', {plural}) END"  # noqa: E501

    years, months, days, micros = (
        f"({v}.months DIV 12)",
        f"({v}.months % 12)",
        f"{v}.days",
        f"{v}.micros",
    )
    size = f"abs({micros})"
    sign = f"CASE WHEN {micros} < 0 THEN '-' WHEN {days} < 0 OR ({days} = 0 AND {v}.months < 0) THEN '+' ELSE '' END"  # noqa: E501
    empty = f"({v}.months = 0 AND {days} = 0)"
    clock = f"CASE WHEN {micros} <> 0 OR {empty} THEN concat({sign}, {_time_text(size)}) END"
    parts = [
        unit(years, "year", "FALSE"),
        unit(months, "mon", "FALSE"),
        unit(days, "day", f"{v}.months < 0"),
        clock,
    ]
    return f"CASE WHEN {v} IS NOT NULL THEN concat_ws(' ', {', '.join(parts)}) END"


def _to_text(value: str, source: SqlType) -> str:
    match source.kind:
        case Kind.REAL | Kind.DOUBLE:
            return _float_text(value, source.kind is Kind.REAL)
        case Kind.TIMESTAMPTZ:
            return f"concat(CAST({value} AS STRING), '+00')"
        case Kind.TIME:
            return _time_text(value)
        case Kind.INTERVAL:
            return _interval_text(value)
        case Kind.NUMERIC if is_bare(source):
            return f"regexp_replace(CAST({value} AS STRING), '[.]?0+$', '')"
        case Kind.BYTEA:
            return f"concat('\\\\x', lower(hex({value})))"
        case Kind.JSONB | Kind.UUID | Kind.UNKNOWN:
            return value
        case _:
            return f"CAST({value} AS STRING)"


def _matching(value: str, pattern: str, result: str) -> str:
    return f"CASE WHEN {value} RLIKE {quote(pattern)} THEN {result} END"


def _from_text(value: str, target: SqlType) -> CastTexts:
    name = spark_type(target)
    match target.kind:
        case Kind.SMALLINT | Kind.INT | Kind.BIGINT:
            return _number_text(value, texts.INTEGER_TEXT, f"try_cast({value} AS {name})")
        case Kind.NUMERIC:
            held = _is_written(value) + (f" AND {holds_digits(value)}" if is_bare(target) else "")
            # Spark counts the places of 0e99.
            zero = f"CASE WHEN {value} RLIKE {_ZERO} THEN CAST(0 AS {name}) END"
            number = f"coalesce(try_cast({value} AS {name}), {zero})"
            return _number_text(value, texts.NUMBER_TEXT, f"CASE WHEN {held} THEN {number} END")
        case Kind.REAL | Kind.DOUBLE:
            either = f"{texts.NUMBER_TEXT}|{texts.FLOAT_WORDS}"
            return _number_text(value, either, float_in_range(value, target))
        case Kind.BOOLEAN:
            word = f"lower(btrim({value}, ' \\t\\n\\r\\f'))"
            true, false = (", ".join(map(quote, w)) for w in (texts.TRUE_TEXTS, texts.FALSE_TEXTS))
            result = (
                f"CASE WHEN {word} IN ({true}) THEN TRUE WHEN {word} IN ({false}) THEN FALSE END"
            )
            return _failing(value, result, _TEXT)
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return _failing(value, _moment(value, target.kind), _TEXT)
        case _:
            return _failing(value, _other_text(value, target.kind), _TEXT)


def _is_written(text: str) -> str:
    """Print whether a NUMERIC may be written so: Spark works long at an exponent beyond that."""
    power = f"try_cast(coalesce(nullif(regexp_extract({text}, {_POWER}, 1), ''), '0') AS INT)"
    least = f"length(regexp_extract({text}, {_FRACTION}, 1)) - {texts.MOST_DECIMALS}"
    return f"{power} BETWEEN {least} AND {texts.POWERS - 1}"


def holds_digits(text: str) -> str:
    """Print whether a bare NUMERIC has a place for every digit of a number as it is written.

    NULL stands for an exponent that is beyond any number.
    """
    part = f"substring_index(lower({text}), 'e', 1)"
    digits = f"nullif(regexp_extract({text}, {_POWER}, 1), '')"
    power = f"CASE WHEN {digits} IS NULL THEN 0L ELSE CAST(try_cast({digits} AS INT) AS BIGINT) END"
    fraction = f"regexp_replace(regexp_extract({part}, {_FRACTION}, 1), '0+$', '')"
    zeros = f"length(regexp_extract({part}, {_WHOLE_ZEROS}, 1))"
    decimals = f"CASE WHEN {fraction} <> '' THEN length({fraction}) ELSE -{zeros} END"
    return f"(NOT {part} RLIKE '[1-9]' OR {decimals} - {power} <= {numeric().scale})"


def float_in_range(text: str, type_: SqlType) -> str:
    """Print the REAL or DOUBLE of a number's text, NULL where it is too large or too small."""
    value = f"try_cast({text} AS {spark_type(type_)})"
    # A short number without an exponent is in range: most are, and are cast once.
    far = f"(length({text}) > 30 OR contains({text}, 'e') OR contains({text}, 'E'))"
    return f"CASE WHEN {far} AND {is_lost(value, text)} THEN NULL ELSE {value} END"


def near_zero(text: str) -> str:
    """Print a number's text with an exponent that Spark works out soon: it rounds to the same.

    NULL stands for one that a NUMERIC may not be written with.
    """
    shorter = f"CASE WHEN {_is_written(text)} THEN regexp_replace({text}, {_TINY}, 'e-9999') END"
    return f"CASE WHEN contains(lower({text}), 'e-') THEN {shorter} ELSE {text} END"


def _number_text(value: str, pattern: str, number: str) -> CastTexts:
    result = _matching(value, pattern, number)
    reason = f"CASE WHEN {value} RLIKE {quote(pattern)} THEN {_RANGE} ELSE {_TEXT} END"
    return result, f"CASE WHEN {result} IS NULL AND {value} IS NOT NULL THEN {reason} END"


def _moment(value: str, kind: Kind) -> str:
    zone = quote(f"{texts.ZONE_TEXT}$")
    # Spark reads no zone behind a day.
    text = f"regexp_replace(trim({value}), '^([0-9]+-[0-9]+-[0-9]+) ?(?=[zZU+]| -)', '$1 00:00:00')"
    if kind is not Kind.TIMESTAMPTZ:
        # The zone is read and not used, as in PostgreSQL; dates must not lose their `-03`.
        clocked = f"{text} RLIKE ':'"
        text = f"CASE WHEN {clocked} THEN regexp_replace({text}, {zone}, '') ELSE {text} END"
    text = f"regexp_replace({text}, '[ T]+(?=[0-9])', ' ')"
    # Spark reads no zone behind a clock without seconds.
    text = f"regexp_replace({text}, '^([^:]*:[0-9]{{2}})(?!:[0-9])', '$1:00')"
    zoned = "TIMESTAMP_LTZ" if kind is Kind.TIMESTAMPTZ else "TIMESTAMP_NTZ"
    whole = f"try_cast({text} AS {zoned})"
    if kind is Kind.DATE:
        date = f"CASE WHEN NOT startswith(trim({value}), '0000') THEN CAST({whole} AS DATE) END"
        return _matching(value, texts.TIMESTAMP_TEXT, date)
    whole = null_outside_years(
        f"timestampadd(MICROSECOND, {_carry(value)}, {whole})", SqlType(kind)
    )
    return _matching(value, texts.TIMESTAMP_TEXT, whole)


def _carry(text: str) -> str:
    """Print the microseconds that more than six decimals add; Spark reads the first six."""
    decimals = f"regexp_extract({text}, {_MORE_DECIMALS}, 0)"
    micros = f"rint(try_cast({decimals} AS DOUBLE) * 1000000)"
    more = f"CAST({micros} - try_cast(substring({decimals}, 2, 6) AS INT) AS INT)"
    return f"CASE WHEN {text} RLIKE {_MORE_DECIMALS} THEN {more} ELSE 0 END"


def _unescape(text: str) -> str:
    """Print the bytes of the escape form of BYTEA."""
    pieces = f"regexp_extract_all({text}, {_PIECES}, 0)"
    octal = "unhex(lpad(conv(substring(p, 2), 8, 16), 2, '0'))"
    plain = f"CAST(if(startswith(p, {_BACKSLASH}), {_BACKSLASH}, p) AS BINARY)"
    byte = f"if(startswith(p, {_BACKSLASH}) AND length(p) = 4, {octal}, {plain})"
    return f"aggregate(transform({pieces}, p -> {byte}), X'', (acc, b) -> concat(acc, b))"


def _other_text(value: str, kind: Kind) -> str:
    match kind:
        case Kind.TIME:
            stamp = f"try_cast(concat('1970-01-01 ', trim({value})) AS TIMESTAMP_NTZ)"
            micros = f"unix_micros(CAST({stamp} AS TIMESTAMP_LTZ)) + {_carry(value)}"
            return _matching(value, texts.TIME_TEXT, f"nullif({micros}, {DAY_MICROS})")
        case Kind.UUID:
            return _matching(
                value,
                texts.UUID_TEXT,
                f"lower(regexp_replace({value}, {quote(texts.UUID_TEXT)}, '$1-$2-$3-$4-$5'))",
            )
        case Kind.JSONB:
            return jsonb(value)
        case Kind.BYTEA:
            rest = f"regexp_replace({value}, {quote(texts.BYTE_ESCAPE)}, '')"
            bytes_ = f"CASE WHEN NOT contains({rest}, {_BACKSLASH}) THEN {_unescape(value)} END"
            hex_ = f"CASE WHEN {value} RLIKE '^..([0-9a-fA-F]{{2}})*$' THEN unhex(substring({value}, 3)) END"  # noqa: E501
            return (
                f"CASE WHEN NOT contains({value}, {_BACKSLASH}) THEN CAST({value} AS BINARY) "
                f"WHEN startswith({value}, '\\\\x') THEN {hex_} ELSE {bytes_} END"
            )
        case _:
            raise AssertionError(kind)
