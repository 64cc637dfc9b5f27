"""Merge: the operations of a table's writers become changes of its rows, key by key."""
