"""Writes docs/errors.md from docs/errors_src: `python docs/generate_errors.py`."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
_SECTION = re.compile(r"^## ((?:E\d{4}|A\d{3})) (.+)$", re.MULTILINE)
_CHAPTERS = (
    ("E01", "The text is not a statement", "E01xx: `SqlSyntaxError`. Nothing ran."),
    ("E02", "A name or a type does not fit", "E02xx: `BindError`. Nothing ran."),
    ("E03", "Understood and refused", "E03xx: `NotSupported`. Nothing ran."),
    ("E04", "Data at rest or from outside breaks a rule", "E04xx: `DataError`."),
    ("E05", "The world is in the way", "E05xx: `TransientError`: the same call can succeed later."),
    ("E06", "While rows are computed", "E06xx: reasons in dead letters, and failures of a query."),
    ("E07", "A table or a sink does not fit", "E07xx. Nothing ran, or a sink is suspended."),
    ("E08", "A definition does not change so", "E08xx. Nothing ran."),
    ("A1", "Notes of EXPLAIN and `floodmark lint`", "A1xx: nothing is wrong."),
)
_HEAD = """# Errors and notes

Every error names its code, the place in the SQL and a remedy. This page is generated from
`docs/errors_src` by `python docs/generate_errors.py`.
"""


def sections() -> dict[str, tuple[str, str]]:
    """Return (title, text) by code; a code that has two sections is an error."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted((HERE / "errors_src").glob("*.md")):
        parts = _SECTION.split(path.read_text())
        for code, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if code in found:
                raise ValueError(f"{code} has two sections, one of them in {path.name}")
            found[code] = (title.strip(), text.strip())
    return found


def page() -> str:
    """Return the text of `docs/errors.md`."""
    found = sections()
    out = [_HEAD]
    for prefix, title, text in _CHAPTERS:
        codes = sorted(code for code in found if code.startswith(prefix))
        if codes:
            out.append(f"## {title}\n\n{text}\n")
        out += [f"### {code} {found[code][0]}\n\n{found[code][1]}\n" for code in codes]
    return "\n".join(out)


if __name__ == "__main__":
    (HERE / "errors.md").write_text(page())
