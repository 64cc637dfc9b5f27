"""The options of the `delta` connector: which table, which of its commits, and from where on."""

from __future__ import annotations

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.delta import DeltaConnector
from floodmark.connectors.delta_commits import APPEND, CHANGE_FEED, TableFeed
from floodmark.connectors.metadata import check_metadata
from floodmark.connectors.options import Options
from floodmark.errors import UserError

OPTIONS = ("path", "mode", "ignore_deletes", "skip_change_commits", "starting_version")


def make_delta(spec: SourceSpec, options: Options) -> DeltaConnector:
    """Make the connector from a source's options; no file is touched."""
    options.check_names(OPTIONS)
    mode = options.choice("mode", (APPEND, CHANGE_FEED), APPEND)
    ignores, skips = (options.flag(name, False) for name in OPTIONS[2:4])
    if mode == CHANGE_FEED and (ignores or skips):
        name = OPTIONS[2] if ignores else OPTIONS[3]
        raise options.wrong(name, "an option of mode = 'change_feed'", "false")
    if spec.format not in (("", "PLAIN") if mode == APPEND else ("UPSERT",)):
        raise UserError(
            "E0485",
            f"source {spec.name}: the connector delta has no messages of FORMAT {spec.format}",
            hint="leave FORMAT out; mode = 'change_feed' brings changes by key",
        )
    check_metadata(spec, {}, "the connector delta")
    first = options.values.get("starting_version")
    return DeltaConnector(
        spec,
        TableFeed(
            spec.name,
            options.folder("path", "lake/orders"),
            spec.schema,
            mode,
            ignores,
            skips,
            None if first is None else options.integer("starting_version", least=0),
        ),
    )
