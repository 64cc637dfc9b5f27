"""Connectors: sources of rows, lookups in external tables, files of COPY and options of sinks."""
