"""The options of the `files` connector: which files, and how their rows are written."""

from __future__ import annotations

from dataclasses import replace

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.files.connector import FilesConnector, metadata_types
from floodmark.connectors.formats import text as files_text
from floodmark.connectors.formats.debezium import DEBEZIUM
from floodmark.connectors.formats.messages import Coding, MessageForm
from floodmark.connectors.formats.upsert import UPSERT
from floodmark.connectors.metadata import check_metadata
from floodmark.connectors.options import Options
from floodmark.errors import UserError

_FORMS = {"PLAIN": None, "DEBEZIUM": DEBEZIUM, "UPSERT": UPSERT}
_FORMATS = ("parquet", "csv", "json")


def make_files(spec: SourceSpec, options: Options) -> FilesConnector:
    """Make the connector from a source's options; no file is touched."""
    options.check_names(messages=spec.format == "DEBEZIUM")
    encode = spec.encode.lower()
    if encode not in _FORMATS:
        raise UserError(
            "E0482",
            f"source {spec.name}: the files connector does not read format {encode!r}",
            hint=f"FORMAT PLAIN ENCODE {{{' | '.join(f.upper() for f in _FORMATS)}}}",
        )
    for name in ("encode", "format"):
        if options.text(name, encode).lower() != encode:
            raise options.wrong(name, "is not what FORMAT … ENCODE says", encode)
    form = _form_of(spec, encode, options)
    check_metadata(spec, metadata_types(form), _what(spec))
    if encode != "parquet":
        files_text.check_text_types(spec.name, spec.schema)
    return FilesConnector(
        spec=spec,
        folder=options.read_option("path"),
        pattern=options.read_option("match_pattern"),
        encode=encode,
        dialect=_dialect(options) if encode == "csv" else None,
        dead_letters=options.read_option("on_error") != "fail",
        limits=options.limits,
        form=form,
        complete=options.read_option("on_missing") == "error",
        follow_links=options.read_option("follow_symlinks"),
    )


def _form_of(spec: SourceSpec, encode: str, options: Options) -> MessageForm | None:
    form = _FORMS.get(spec.format or "PLAIN")
    if form is not None and encode != "json":
        raise UserError(
            "E0485",
            f"source {spec.name}: messages of FORMAT {spec.format} are not read from {encode}",
            hint=f"FORMAT {spec.format} ENCODE JSON, one message a line",
        )
    decimals = options.read_option("decimal.handling.mode")
    binary = options.read_option("binary.handling.mode")
    if form is not DEBEZIUM:
        return form
    return replace(form, coding=Coding(decimals == "precise", binary != "hex"))


def _what(spec: SourceSpec) -> str:
    return f"the files connector with FORMAT {spec.format or 'PLAIN'}"


def _dialect(options: Options) -> files_text.CsvDialect:
    names = ("header", "delimiter", "quote", "escape", "null")
    dialect = files_text.CsvDialect(**{name: options.read_option(f"csv.{name}") for name in names})
    for name, mark in (("csv.quote", dialect.quote), ("csv.escape", dialect.escape)):
        if mark == dialect.delimiter:
            what = f"is not another character than {name}"
            raise options.wrong("csv.delimiter", what, ";")
    return dialect
