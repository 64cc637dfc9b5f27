"""What is done once it is logged raises errors of data, disks and damage alone.

A check of a definition there would come too late: the epoch is logged, and stays in the way. It
belongs to the analysis, or to what is checked or rehearsed before a version is logged. Who adds an
error below the log adds it to one of these lists, with the reason why it may be raised there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKERS = (
    "epochs.objects.epoch", "epochs.run", "epochs.catch_up", "epochs.start_records",
    "epochs.new_version", "epochs.removal", "epochs.version_rollback", "warehouse.split_enumerator",
)  # fmt: skip
"""What an epoch runs after its record is put in place; what these import runs there, too."""
ABOVE = {"sql", "scalar", "catalog", "plan", "stream", "reference"}
"""Packages without tables and disks. What they refuse, they refuse when a version is rehearsed."""

DATA = "rows or files that came after the definition are not as it says: their object is suspended"
DISK = "the disk, the machine or the server is in the way: the same again can succeed"
DAMAGE = "what lies on the disk is not as the engine left it"
HISTORY = "the log and the tables are of different times"
OTHERS = "another program did it meanwhile"
CHECKED = "is checked before the log, too: here it is for what has changed since"
UNUSED = "is of SET, statements, readers or the opening, which share the module with epochs"
RECOVERY = "says that what is logged cannot be applied, and what a person can do about it"
FUNCTIONS = "functions outside of the definitions mean something else now: the source waits"

MAY_BE_RAISED = {
    DATA: {
        "E0477", "E0478", "E0497", "E0475", "E0476", "E0486", "E0487", "E0488", "E0489", "E0490",
        "E0491", "E0492", "E0494", "E0495", "E0496", "E0601", "E0602", "E0610",
    },
    DISK: {
        "E0380", "E0455", "E0504", "E0507", "E0508", "E0510", "E0511", "E0512", "E0513", "E0514",
        "E0515", "E0516", "E0517", "E0518", "E0520", "E0537", "E0450", "E0451", "E0459", "E0545",
        "E0546", "E0741",
    },
    DAMAGE: {
        "E0402", "E0407", "E0409", "E0410", "E0411", "E0431", "E0432", "E0435", "E0456", "E0457",
        "E0458", "E0609",
    },
    HISTORY: {"E0430", "E0433", "E0434", "E0745"},
    OTHERS: {"E0405", "E0420", "E0427", "E0501", "E0502", "E0506", "E0742"},
    CHECKED: {
        "E0401", "E0403", "E0404", "E0408", "E0470", "E0471", "E0472", "E0473", "E0474", "E0479",
        "E0452", "E0480", "E0481", "E0482", "E0483", "E0484", "E0485", "E0493", "E0743", "E0744",
    },
    UNUSED: {
        "E0369", "E0376", "E0381", "E0424", "E0425", "E0426", "E0436", "E0503", "E0880",
    },
    RECOVERY: {"E0437", "E0438"},
    FUNCTIONS: {"E0377"},
}  # fmt: skip
LOGGING = {
    "session.statements": "apply_plan",
    "session.suspension": "_rebase",
    "epochs.version_rollback": "take_back",
}
"""Who logs a version of the definitions, in which function: it is rehearsed, or was in force."""


@cache
def parsed(module: str) -> ast.Module:
    path = (ROOT / "floodmark").joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text())


def modules() -> set[str]:
    paths = [p.relative_to(ROOT / "floodmark") for p in (ROOT / "floodmark").rglob("*.py")]
    return {".".join(p.with_suffix("").parts).removesuffix(".__init__") for p in paths}


def imported(module: str, known: set[str]) -> Iterator[str]:
    """Yield what a module imports of the engine, but for names in annotations."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("floodmark."):
            base = (node.module or "").removeprefix("floodmark.")
            found = {f"{base}.{a.name}" for a in node.names} | {base}
            yield from found & known


def below() -> set[str]:
    known, seen, left = modules(), set[str](), [*WORKERS]
    while left:
        module = left.pop()
        if module not in seen and module.split(".")[0] not in ABOVE:
            seen.add(module)
            left += imported(module, known)
    return seen


def codes(module: str) -> set[str]:
    texts = (n.value for n in ast.walk(parsed(module)) if isinstance(n, ast.Constant))
    return {t for t in texts if isinstance(t, str) and re.fullmatch(r"E0\d{3}", t)}


def test_each_error_below_the_log_has_a_reason() -> None:
    found = {code: module for module in below() for code in codes(module)}
    listed = [code for some in MAY_BE_RAISED.values() for code in some]
    assert len(listed) == len(set(listed))
    unreasoned = {code: found[code] for code in sorted(found.keys() - set(listed))}
    assert unreasoned == {}, "say why it may be raised once the epoch is logged"
    assert sorted(set(listed) - found.keys()) == [], "nothing below the log raises it any more"


def test_what_is_logged_is_rehearsed() -> None:
    found = {}
    for module in modules():
        for function in ast.walk(parsed(module)):
            if isinstance(function, ast.FunctionDef):
                calls = [ast.unparse(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)]
                if any(call.endswith("catalogs.append") for call in calls):
                    found[module] = function.name
                    assert "rehearse" in calls or module.endswith("version_rollback"), module
    assert found == LOGGING
