"""The options of the `delta` connector: which table, which of its commits, and from where on."""

from __future__ import annotations

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.metadata import check_metadata
from floodmark.connectors.options import Options
from floodmark.connectors.sources.delta.commits import APPEND, CHANGE_FEED, TableFeed
from floodmark.connectors.sources.delta.connector import DeltaConnector
from floodmark.errors import UserError


def make_delta(spec: SourceSpec, options: Options) -> DeltaConnector:
    """Make the connector from a source's options; no file is touched."""
    options.check_names()
    mode = options.read_option("mode")
    ignores, skips = (options.read_option(n) for n in ("ignore_deletes", "skip_change_commits"))
    if mode == CHANGE_FEED and (ignores or skips):
        name = "ignore_deletes" if ignores else "skip_change_commits"
        raise options.wrong(name, "is not an option of mode = 'change_feed'", "false")
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
            options.read_option("path"),
            spec.schema,
            mode,
            ignores,
            skips,
            None if first is None else options.read_option("starting_version"),
        ),
        options.limits,
    )
