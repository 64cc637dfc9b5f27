"""What several aggregates of a group keep alike is kept once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from floodmark.dataflow.groups.accumulators import Accumulation
from floodmark.spark.types import ident

_NAME = re.compile(r"\{p\}(\w+)")


def share_columns(parts: Iterable[Accumulation], kept: Mapping[str, str]) -> list[Accumulation]:
    """Return the aggregates with each state column once; `kept` names the one that stands for it.

    So sum and avg of one argument are kept together, and what isn't NULL is counted once.
    """
    printed: dict[str, str] = {}
    out = []
    for part in parts:
        names = {field.name: kept[field.name] for field in part.columns}
        texts = zip(part.columns, part.partial, part.merge, strict=True)
        columns = [column for column in texts if names[column[0].name] == column[0].name]
        bound = []
        for name, text in part.bound:
            read = _reading(text, names)
            names[name] = printed.setdefault(read, name)
            if names[name] == name:
                bound.append((name, read))
        out.append(
            replace(
                part,
                columns=tuple(field for field, _, _ in columns),
                partial=tuple(partial for _, partial, _ in columns),
                merge=tuple(merge for _, _, merge in columns),
                finish=_reading(part.finish, names),
                overflow=None if part.overflow is None else _reading(part.overflow, names),
                bound=tuple(bound),
            )
        )
    return out


def _reading(text: str, names: dict[str, str]) -> str:
    """Return the text with other names of state columns."""
    return _NAME.sub(lambda m: f"{{p}}{names[m[1]]}", text)


def binding_texts(parts: Iterable[Accumulation], prefix: str) -> list[str]:
    """Return the texts of what the values of one side are made of, beside its state columns."""
    return [
        f"{text.replace('{p}', prefix)} AS {ident(prefix + name)}"
        for part in parts
        for name, text in part.bound
    ]
