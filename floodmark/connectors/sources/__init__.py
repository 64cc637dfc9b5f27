"""Sources besides files: Delta tables, and rows that are computed."""
