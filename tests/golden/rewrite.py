"""Rewrites the golden plans: `python -m tests.golden.rewrite`; review the diff."""

from __future__ import annotations

from tests.golden.cases import files, rewrite

if __name__ == "__main__":
    for path in files():
        rewrite(path)
        print(path.name)
