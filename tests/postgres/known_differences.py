# ruff: noqa: E501
"""What is meant to be different from PostgreSQL, each with its reason; docs/sql.md says the same."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.postgres.comparison import Difference


@dataclass(frozen=True, slots=True)
class Known:
    """A kind of difference: a pattern of what `Difference` prints, and why it stays."""

    pattern: str
    reason: str

    def holds(self, found: Difference) -> bool:
        """Tell whether a difference is of this kind."""
        return re.search(self.pattern, str(found), re.DOTALL) is not None


KNOWN = (
    Known(r"reference  E062[34].*PostgreSQL [^\n]*( BC|\b\d{5,}-\d\d-\d\d)", "the years are 1 to 9999"),
    Known(r"reference  E0(258|622|624|271).*PostgreSQL [^\n]*(numeric)", "NUMERIC has 38 digits, without digits 10 decimals, no NaN and no Infinity"),
    Known(r"reference  -?Infinity.*PostgreSQL 22003", "sums and products of doubles may be infinite"),
    Known(r"reference  -?0 \((real|double).*PostgreSQL 22003 value out of range: underflow", "products and quotients of doubles may be zero"),
    Known(r"numeric.*(array_|ARRAY|\|\||::text|::character|concat|format|quote|jsonb|pg_typeof)|(array_|ARRAY|\|\||concat|format|quote|jsonb|pg_typeof)[^\n]*numeric", "a bare NUMERIC prints without zeros at its end; elements of an array have one scale"),
    Known(r"^pg_typeof", "types print with their digits and by their own names"),
    Known(r"make_interval", "PostgreSQL lets the parts of make_interval overflow"),
    Known(r"^\(?(regexp|\(regexp|substring)|SIMILAR TO|similar", "regular expressions are those that Java and Python read alike"),
    Known(r"^(initcap|lower|upper)|ILIKE", "letters without a single other case are changed as Unicode says"),
    Known(r"^to_(char|date|timestamp|number)\(", "patterns of formats are read more strictly"),
    Known(r"jsonb", "JSONB prints without spaces, and paths into what has no fields are refused"),
    Known(r"^(atanh|cot|degrees|radians|sinh|cosh|tan)\(", "poles are refused; results beyond DOUBLE are infinite"),
    Known(r"^convert_from|^chr\(", "texts may hold every character"),
    Known(r"^\(?overlay", "positions beyond the text's end are its end"),
    Known(r" / [^\n]*numeric[^\n]*\n.*PostgreSQL [^\n]*numeric", "quotients of wide NUMERICs are rounded to fewer digits first"),
    Known(r"NULL::.*reference  E06.*PostgreSQL None", "an error of an argument wins over NULL beside it"),
    Known(r"(repeat|[lr]pad)\(.*reference  E0625", "texts that are made have up to 10 million characters"),
    Known(r"^sign\(.*NaN", "the sign of NaN is NaN"),
    Known(r"0x1f", "numbers are decimal"),
    Known(r"^\('NaN'::(real|double precision) / '-?0'", "a division by zero is refused, of NaN too"),
    Known(r"AT TIME ZONE|timezone\(", "a zone's rules are those of Java and Python"),
    Known(r"^\(?div\(", "div is of whole numbers"),
    Known(r"interval[^\n]*(\*|/)|(\*|/)[^\n]*interval", "an interval is scaled part by part, exactly"),
    Known(r"time without time zone [-+]|[-+] '[^']*'::time without", "a time of day moves by the whole interval"),
    Known(r"^extract\(|^\(extract", "fields of a date may be those of a timestamp"),
    Known(r"= ANY", "NULL is in no list for certain"),
    Known(r"real[^\n]*( / | \* )", "REAL below its normal range prints other digits"),
    Known(r"::(timestamp|time)[^\n]*\.\d{7}", "times are cut to microseconds"),
)  # fmt: skip


def unknown(found: Difference) -> bool:
    """Tell whether a difference has no reason yet."""
    return not any(known.holds(found) for known in KNOWN)
