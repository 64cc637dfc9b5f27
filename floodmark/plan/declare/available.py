"""Refusals of clauses of sources and tables that are not available yet."""

from __future__ import annotations

from floodmark.catalog.objects import CatalogObject
from floodmark.errors import NotSupported
from floodmark.plan.declaration import DEBEZIUM, INGESTION_TIMESTAMP, PLAIN, UPSERT
from floodmark.plan.declare.definitions import primary_key_of
from floodmark.sql import statements as s


def check_available(obj: CatalogObject) -> None:
    """Raise E0344 to E0356 for a source or table that is understood and does not run yet."""
    st = obj.statement
    assert isinstance(st, s.CreateSource | s.CreateTable)
    _refuse_options(st)
    if st.format is not None and st.format.format not in (PLAIN, UPSERT, DEBEZIUM):
        raise NotSupported(
            "E0344",
            f"FORMAT {st.format.format} is not available yet",
            span=st.format.span,
            hint=f"FORMAT {PLAIN}, {UPSERT} or {DEBEZIUM}",
        )
    _refuse_includes(st)
    if isinstance(st, s.CreateSource):
        _refuse_source(st)
    else:
        _refuse_table(st)


def _refuse_options(st: s.CreateSource | s.CreateTable) -> None:
    for option in st.options:
        name = option.name.lower()
        if name == "on_error" and option.value.lower() != "dead_letter":
            raise NotSupported(
                "E0353",
                f"on_error = '{option.value}' is not available yet",
                span=option.span,
                hint="rows that do not parse go to the dead letters",
            )


def _refuse_includes(st: s.CreateSource | s.CreateTable) -> None:
    for included in st.includes:
        if included.kind != INGESTION_TIMESTAMP or isinstance(st, s.CreateTable):
            where = " of a table" if isinstance(st, s.CreateTable) else ""
            raise NotSupported(
                "E0356",
                f"INCLUDE {included.kind}{where} is not available",
                span=included.span,
                hint=f"sources INCLUDE {INGESTION_TIMESTAMP}; for metadata of the connector, "
                "declare a column with METADATA FROM '…'",
            )


def _refuse_source(st: s.CreateSource) -> None:
    if st.watermarks and st.format is not None and st.format.format in (UPSERT, DEBEZIUM):
        raise NotSupported(
            "E0347",
            f"a watermark needs append-only rows, and rows of FORMAT {st.format.format} "
            "change: an update could change a row below the watermark",
            span=st.watermarks[0].span,
            hint="leave it out; a table that a sink writes can have WATERMARK … WITH TTL",
        )


def _refuse_table(st: s.CreateTable) -> None:
    lasting = [w for w in st.watermarks if not w.with_ttl]
    if lasting and not st.append_only:
        raise NotSupported(
            "E0347",
            "Defining watermarks on table requires the table to be append only.",
            span=lasting[0].span,
            hint="Use the key words `APPEND ONLY`; or WITH TTL, on a table with a primary key",
        )
    if st.append_only and st.watermarks and primary_key_of(st):
        raise NotSupported(
            "E0348",
            "an APPEND ONLY table with a primary key and a watermark is not available yet",
            span=st.name.span,
            hint="leave one of them out: a source with a watermark can promise a key",
        )
