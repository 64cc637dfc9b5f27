"""The options of the `files` connector: which files, and how their rows are written."""

from __future__ import annotations

from dataclasses import replace

from floodmark.connectors import files_text
from floodmark.connectors.base import SourceSpec
from floodmark.connectors.debezium import DEBEZIUM
from floodmark.connectors.files import FilesConnector, metadata_types
from floodmark.connectors.messages import Coding, MessageForm
from floodmark.connectors.metadata import check_metadata
from floodmark.connectors.options import Options
from floodmark.connectors.upsert import UPSERT
from floodmark.errors import UserError

OPTIONS = (
    "path",
    "match_pattern",
    "follow_symlinks",
    "on_missing",
    "csv.header",
    "csv.delimiter",
    "csv.quote",
    "csv.escape",
    "csv.null",
)
_FORMS = {"PLAIN": None, "DEBEZIUM": DEBEZIUM, "UPSERT": UPSERT}
_FORMATS = ("parquet", "csv", "json")
_DECIMALS, _BINARY = "decimal.handling.mode", "binary.handling.mode"
_PRECISE = "precise"
_NO_MARKS = "\r\n\0"
"""What parts lines, or is no text."""


def make_files(spec: SourceSpec, options: Options) -> FilesConnector:
    """Make the connector from a source's options; no file is touched."""
    options.check_names((*OPTIONS, *((_DECIMALS, _BINARY) if spec.format == "DEBEZIUM" else ())))
    encode = spec.encode.lower()
    if encode not in _FORMATS:
        raise UserError(
            "E0482",
            f"source {spec.name}: the files connector does not read format {encode!r}",
            hint=f"FORMAT PLAIN ENCODE {{{' | '.join(f.upper() for f in _FORMATS)}}}",
        )
    for name in ("encode", "format"):
        if options.text(name, encode).lower() != encode:
            raise options.wrong(name, "what FORMAT … ENCODE says", encode)
    form = _form_of(spec, encode, options)
    check_metadata(spec, metadata_types(form), _what(spec))
    if encode != "parquet":
        files_text.check_text_types(spec.name, spec.schema)
    return FilesConnector(
        spec=spec,
        folder=options.folder("path", "landing/orders"),
        pattern=options.nonempty_text("match_pattern", "*.csv", "*"),
        encode=encode,
        dialect=_dialect(options) if encode == "csv" else None,
        dead_letters=options.choice("on_error", ("dead_letter", "fail", "null"), "dead_letter")
        != "fail",
        form=form,
        complete=options.choice("on_missing", ("null", "error"), "null") == "error",
        follow_links=options.flag("follow_symlinks", False),
    )


def _form_of(spec: SourceSpec, encode: str, options: Options) -> MessageForm | None:
    form = _FORMS.get(spec.format or "PLAIN")
    if form is not None and encode != "json":
        raise UserError(
            "E0485",
            f"source {spec.name}: messages of FORMAT {spec.format} are not read from {encode}",
            hint=f"FORMAT {spec.format} ENCODE JSON, one message a line",
        )
    decimals = options.choice(_DECIMALS, ("string", "double", _PRECISE), "string")
    binary = options.choice(_BINARY, ("bytes", "base64", "hex"), "bytes")
    if form is not DEBEZIUM:
        return form
    return replace(form, coding=Coding(decimals == _PRECISE, binary != "hex"))


def _what(spec: SourceSpec) -> str:
    return f"the files connector with FORMAT {spec.format or 'PLAIN'}"


def _dialect(options: Options) -> files_text.CsvDialect:
    plain = files_text.CsvDialect()
    delimiter = options.text("csv.delimiter", plain.delimiter).replace("\\t", "\t")
    if len(delimiter) != 1 or delimiter in _NO_MARKS:
        raise options.wrong("csv.delimiter", "one character, and no line break", ";")
    marks = {
        "csv.quote": _character(options, "csv.quote", plain.quote),
        "csv.escape": _character(options, "csv.escape", plain.escape),
    }
    for name, mark in marks.items():
        if mark == delimiter:
            raise options.wrong("csv.delimiter", f"another character than {name}", ";")
    return files_text.CsvDialect(
        header=options.flag("csv.header", plain.header),
        delimiter=delimiter,
        quote=marks["csv.quote"],
        escape=marks["csv.escape"],
        null=options.text("csv.null", plain.null),
    )


def _character(options: Options, name: str, default: str) -> str:
    """Return an option that is one character, or empty for none; Spark takes 16 bits of it."""
    text = options.text(name, default)
    if len(text) > 1 or text > "\uffff" or (text and text in _NO_MARKS):
        raise options.wrong(name, "one character, or empty for none", default)
    return text
