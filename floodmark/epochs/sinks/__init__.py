"""Sinks to the outside: what an epoch has for one, and how it gets there exactly once.

The rows are those of files that are committed in the warehouse, so that a second try of an epoch
writes what the first one did. Files are named after sink, epoch and part, a Delta table records the
epoch as its transaction; last, the table `sent` in the warehouse says that all of it is there.
"""
