"""Delta tables: their log, commits, types and columns."""
