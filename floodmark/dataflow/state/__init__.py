"""Stored state, one kind of state table per file; `dataflow.stages` gives them to operators."""
