"""From the `connector` that a source or sink names to what reads or writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from floodmark.catalog.option_table import nearest
from floodmark.connectors.base import Connector, SourceSpec
from floodmark.connectors.files.options import make_files
from floodmark.connectors.lookup.connector import make_lookup
from floodmark.connectors.options import Options
from floodmark.connectors.sinks.delta import DeltaSender
from floodmark.connectors.sinks.files import FilesSender
from floodmark.connectors.sinks.identity import SinkIdentity
from floodmark.connectors.sinks.sender import Sender
from floodmark.connectors.sources.datagen import make_datagen
from floodmark.connectors.sources.delta.options import make_delta
from floodmark.connectors.sources.nexmark import make_nexmark
from floodmark.errors import UserError
from floodmark.limits import LIMITS, Limits
from floodmark.stream.objects.analysed import AnalysedObject
from floodmark.stream.objects.external_sink import ExternalSink

CONNECTORS: Mapping[str, Callable[[SourceSpec, Options], Connector]] = {
    "files": make_files,
    "datagen": make_datagen,
    "delta": make_delta,
    "lookup": make_lookup,
    "nexmark": make_nexmark,
}
"""What `connector = '…'` of a source can say."""
SENDERS: Mapping[str, Callable[[ExternalSink, SinkIdentity, Limits], Sender]] = {
    "files": FilesSender,
    "delta": DeltaSender,
}
"""What `connector = '…'` of a sink can say."""


def make_connector(spec: SourceSpec, limits: Limits) -> Connector:
    """Make the connector of a source; nothing outside is touched.

    Raises `UserError` for a connector or option that is unknown, a required option that is
    missing, an option's value or a column that the connector cannot serve.
    """
    return _make(spec, Options(spec.name, spec.options, limits))


def check_connector(spec: SourceSpec, *, new: bool = True) -> None:
    """Raise what `make_connector` does, and E0471 for an option from which nothing follows.

    In a definition that is `new`, the folder of another host is E0473.
    """
    options = Options(spec.name, spec.options, LIMITS, new=new)
    _make(spec, options)
    options.check_asked()


def _make(spec: SourceSpec, options: Options) -> Connector:
    options.read_option("max_rows_per_epoch")
    options.read_option("static")
    name = options.text("connector").lower()
    if name not in CONNECTORS:
        raise UserError(
            "E0470",
            f"source {spec.name}: unknown connector {name!r}",
            hint=nearest(name, CONNECTORS),
        )
    if spec.format not in ("", "PLAIN") and name not in ("files", "delta"):
        raise UserError(
            "E0485",
            f"source {spec.name}: the connector {name} has no messages of FORMAT {spec.format}",
            hint="FORMAT PLAIN, or connector = 'files'",
        )
    return CONNECTORS[name](spec, options)


def connector_of(obj: AnalysedObject, limits: Limits) -> Connector:
    """Make the connector of a source or table; a `UserError` where its definition does not do."""
    return make_connector(spec_of(obj), limits)


def spec_of(obj: AnalysedObject) -> SourceSpec:
    """Return what the connector of a source or table needs to know."""
    declared = obj.declared
    assert declared is not None
    return SourceSpec(
        obj.name,
        declared.physical,
        declared.format,
        declared.encode,
        declared.connecting,
        declared.metadata,
        declared.primary_key,
        declared.default_columns,
    )


def sender_of(obj: AnalysedObject, seed: str, limits: Limits) -> Sender:
    """Make the sender of a sink, in the warehouse that has a seed."""
    sink = obj.external_sink
    assert sink is not None
    return SENDERS[sink.connector](sink, SinkIdentity(obj.object.storage_name, seed), limits)
