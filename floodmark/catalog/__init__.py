"""The catalog: named objects, ALTER, DROP and RENAME as new catalogs, and the options."""
