"""WITH options of a connector: read once, checked, with nearest names in the errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floodmark.catalog.option_table import (
    CONNECTORS,
    OptionPlace,
    OptionSpec,
    refuse_unknown,
    specs_of,
)
from floodmark.catalog.option_values import Folder, UnfitError, Value
from floodmark.errors import UserError
from floodmark.limits import Limits

COMMON = frozenset(specs_of(OptionPlace.CONNECTED))
"""Options that every source takes and that the engine reads."""
_CODING = {"format", "encode"}
"""Those of connectors that read files."""
FIELD = "fields.{column}.{name}"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one source, by the table; `read_names` are those that something has read.

    A `new` source is checked strictly; older definitions may have what was accepted then.
    """

    source: str
    values: Mapping[str, str]
    limits: Limits
    read_names: set[str] = field(default_factory=set, compare=False, repr=False)
    new: bool = False

    def check_names(self, *others: str, messages: bool = False) -> None:
        """Refuse an option that the connector does not know; `messages` are Debezium's."""
        known = {*self._specs(messages=messages), *others}

        def error(name: str, hint: str) -> UserError:
            return UserError("E0471", f"source {self.source}: unknown option {name!r}", hint=hint)

        refuse_unknown(self.values, known, error)

    def check_asked(self) -> None:
        """Refuse an option of the connector that says nothing beside the others."""
        for name in self.values:
            if name not in self.read_names | (COMMON - _CODING):
                raise UserError(
                    "E0471",
                    f"source {self.source}: option {name!r} has no effect here",
                    hint="leave it out: it is for another format, store or type of column",
                )

    def _specs(self, *, messages: bool = True) -> Mapping[str, OptionSpec]:
        own = CONNECTORS.get(self.values.get("connector", "").lower())
        places = [OptionPlace.CONNECTED, *([] if own is None else [own])]
        places += [OptionPlace.DEBEZIUM] if messages and own is OptionPlace.FILES else []
        return specs_of(*places)

    def text(self, name: str, default: str | None = None) -> str:
        """Return an option's text; without a default it must be there."""
        self.read_names.add(name)
        value = self.values.get(name, default)
        if value is None:
            raise UserError(
                "E0472",
                f"source {self.source}: option {name!r} is missing",
                hint=f"add {name} = '…' to WITH (…)",
            )
        return value

    def read_option(self, name: str, default: str | None = None) -> Any:
        """Return the value of an option; without a default, its own too, it must be there."""
        spec = self._specs()[name]
        return self.parse(name, spec.parse, spec.default if default is None else default)

    def read_field(
        self, column: str, name: str, value: Value | None = None, default: str | None = None
    ) -> Any:
        """Return the value of an option of a column; its type may be narrower than the table's."""
        spec = self._specs()[FIELD.format(column="<column>", name=name)]
        given = FIELD.format(column=column, name=name)
        return self.parse(given, value or spec.parse, spec.default if default is None else default)

    def has_field(self, column: str, name: str) -> bool:
        """Tell whether an option of a column is given."""
        return FIELD.format(column=column, name=name) in self.values

    def parse(self, name: str, value: Value, default: str | None = None) -> Any:
        """Return the value of an option that is of a type; E0473 where its text is none."""
        text = self.text(name, default)
        try:
            if self.new and isinstance(value, Folder):
                value.check_host(text)
            return value.parse(text)
        except UnfitError as error:
            raise self.wrong(name, error.problem, value.example or default or "…") from None

    def rows_per_epoch(self) -> int:
        """Return the most rows that an epoch takes from the source, the limit unless it says so."""
        return int(self.read_option("max_rows_per_epoch", str(self.limits.source_rows)))

    def wrong(self, name: str, problem: str, example: str) -> UserError:
        """Make the error for a value that an option does not take, with one that it does."""
        return UserError(
            "E0473",
            f"source {self.source}: option {name} = {self.values.get(name)!r} {problem}",
            hint=f"write {name} = '{example}'",
        )
