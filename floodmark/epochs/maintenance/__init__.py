"""Maintenance of tables: merging small files, folding changes, deleting unneeded files."""
