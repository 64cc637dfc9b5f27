"""The options behind FORMAT … ENCODE of a source or table: how its texts are written."""

from __future__ import annotations

from floodmark.catalog.option_table import OptionPlace, specs_of
from floodmark.errors import BindError
from floodmark.sql import statements as s

_PREFIX = "csv."
_OF_CSV = tuple(
    sorted(n.removeprefix(_PREFIX) for n in specs_of(OptionPlace.FILES) if n.startswith(_PREFIX))
)


def format_options(st: s.CreateSource | s.CreateTable) -> tuple[tuple[str, str], ...]:
    """Return the options behind FORMAT … ENCODE, by the names that they have in WITH.

    Raises E0138 for one that the encoding does not have, and for one that WITH gives, too.
    """
    if st.format is None:
        return ()
    out = []
    given = {o.name.lower() for o in st.options}
    for option in st.format.options:
        name = option.name.lower().removeprefix(_PREFIX)
        if st.format.encode != "CSV" or name not in _OF_CSV:
            what = f"ENCODE {st.format.encode or 'JSON'} has no option {option.name}"
            raise _refusal(option, what, f"CSV has {', '.join(_OF_CSV)}; others have none")
        if _PREFIX + name in given:
            raise _refusal(option, f"{option.name} is in WITH, too", "keep one of them")
        out.append((_PREFIX + name, option.value))
    return tuple(out)


def _refusal(option: s.Option, what: str, hint: str) -> BindError:
    return BindError("E0138", what, span=option.span, hint=hint)
