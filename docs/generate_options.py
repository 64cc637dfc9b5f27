"""Writes docs/options.md from the table of options: `python docs/generate_options.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from floodmark.catalog.option_table import OptionPlace, OptionSpec, specs_of

HERE = Path(__file__).parent
_HEAD = """# Options

Every option of a definition, of COPY and of SET. This page is generated from
`floodmark/catalog/option_table.py` by `python docs/generate_options.py`.

Options are written `WITH (name = 'value', …)`. Names are read in upper and lower case alike, and so
are yes and no, which are spelt as in PostgreSQL: `true`, `on`, `yes`, `1` and `false`, `off`, `no`,
`0`. An interval has a unit. An unknown option is refused, and so is a value of another type.
"""


def page() -> str:
    """Return the text of `docs/options.md`."""
    return "\n".join((_HEAD, *(line for place in OptionPlace for line in _section(place))))


def _section(place: OptionPlace) -> Iterator[str]:
    yield f"## {place.value}\n"
    yield "| option | value | default | what it is for |\n|---|---|---|---|"
    yield from (_row(spec) for spec in specs_of(place).values())
    yield ""


def _row(spec: OptionSpec) -> str:
    default = "" if spec.default is None else f"`'{spec.default}'`"
    return f"| `{spec.name}` | {spec.parse} | {default} | {spec.doc} |"


if __name__ == "__main__":
    (HERE / "options.md").write_text(page())
