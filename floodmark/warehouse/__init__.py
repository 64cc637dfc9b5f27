"""The open warehouse: its logs, tables, clock, sources, and the definitions in force."""
