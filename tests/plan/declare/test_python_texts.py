"""Who reads, plans, explains or examines pipeline files runs no Python of theirs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.api import connect
from floodmark.cli.app import app
from floodmark.errors import UserError
from floodmark.plan.declare.functions import check
from tests.plan.declare.users_functions import user_function

TEXT = """
CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE python IMMUTABLE AS $$
from pathlib import Path
Path("{mark}").touch()
def f(a): return a
$$;
CREATE FUNCTION g(a INT) RETURNS INT LANGUAGE python IMMUTABLE AS 'marking_module.g';
CREATE TABLE t (k INT PRIMARY KEY);
CREATE MATERIALIZED VIEW v AS SELECT f(k) AS a, g(k) AS b FROM t WHERE f(1) = 1;
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with pipeline files whose Python leaves a mark where it runs."""
    modules, mark = tmp_path / "modules", tmp_path / "ran"
    (tmp_path / "pipelines").mkdir()
    modules.mkdir()
    (tmp_path / "pipelines" / "a.sql").write_text(TEXT.format(mark=mark))
    (modules / "marking_module.py").write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\ndef g(a): return a\n"
    )
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.delitem(sys.modules, "marking_module", raising=False)
    monkeypatch.setenv("FLOODMARK_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    "words", [("lint",), ("plan",), ("explain", "SELECT f(k) FROM t"), ("doctor",)], ids=str
)
def test_a_command_that_reads_files_runs_nothing_of_them(site: Path, words: tuple[str]) -> None:
    places = ["--warehouse", str(site / "warehouse"), "--pipelines", str(site / "pipelines")]
    if words[0] == "lint":
        places = [str(site / "pipelines")]
    result = CliRunner().invoke(app, [words[0], *places, *words[1:]])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    assert not (site / "ran").exists()


def test_code_runs_where_it_is_created(site: Path) -> None:
    with connect(site / "warehouse") as warehouse:
        warehouse.plan(site / "pipelines")
        assert not (site / "ran").exists()
        warehouse.execute(f"CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE python AS $$\n"
                          f"from pathlib import Path\nPath({str(site / 'ran')!r}).touch()\n"
                          "def f(a): return a\n$$")  # fmt: skip
        assert (site / "ran").exists()
        before = warehouse.warehouse.log.head()
        with pytest.raises(UserError) as refused:
            warehouse.execute("CREATE FUNCTION h() RETURNS INT LANGUAGE python AS $$\n1 / 0\n"
                              "def h(): return 1\n$$")  # fmt: skip
        assert refused.value.code == "E0281"
        assert warehouse.warehouse.log.head() == before
    (site / "ran").unlink()
    with connect(site / "warehouse") as again:
        assert "f(1)" in str(again.explain("SELECT f(1) AS x"))
        assert not (site / "ran").exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("def f(:", "E0281"),
        ("def f(x): return '\\0' + (", "E0281"),
        ("def g(x): pass\n", "E0281"),
        ("async def f(x): pass", "E0297"),
        ("def f(): pass", "E0297"),
        ("def f(*, x): pass", "E0297"),
        ("def f(x, y): pass", "E0297"),
        ("class f:\n    def __init__(self): pass", "E0297"),
        ("no_such_package.inner.f", "E0280"),
        ("email.nothing.f", "E0280"),
        ("f", "E0280"),
        # What only running tells is left to the loader.
        ("def f(x, y=1, *z, w=2, **u): pass", None),
        ("def f(x, /, y=1): pass", None),
        ("def f(): pass\nf = abs", None),
        ("def f(): pass\nglobals()['f'] = abs", None),
        ("from math import *\n", None),
        ("from math import sqrt as f\n", None),
        ("import functools\n@functools.partial\ndef f(x, y): pass", None),
        ("import functools\nf = functools.partial(max, 0)\n", None),
        ("if True:\n    def f(): pass\n", None),
        ("class f(int): pass\n", None),
        ("1 / 0\ndef f(x): pass", None),
        ("import nothing_of_that_name\ndef f(x): pass", None),
        ("email.message.Message", None),
        ("math.nothing", None),
    ],
)
def test_what_is_told_of_a_text_without_running_it(body: str, code: str | None) -> None:
    made = user_function(f"CREATE FUNCTION f(INT) RETURNS INT LANGUAGE python AS $${body}$$;")
    if code is None:
        check(made, {})
        return
    with pytest.raises(UserError) as refused:
        check(made, {})
    assert refused.value.code == code
