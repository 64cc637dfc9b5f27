"""Inspection of a warehouse: reports, sizes, system tables, changes to watch."""
