from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_code_has_its_section_and_one_meaning() -> None:
    sources = [path.read_text() for path in sorted((ROOT / "floodmark/sql").rglob("*.py"))]
    raised = [code for text in sources for code in re.findall(r'"(E0\d{3})"', text)]
    documented = re.findall(r"^## (E0\d{3}) ", (ROOT / "docs/errors_src/sql.md").read_text(), re.M)
    assert sorted(set(raised)) == documented
