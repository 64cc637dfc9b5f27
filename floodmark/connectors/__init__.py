"""Connectors: sources of rows, lookups in external tables, sinks, and files of COPY."""
