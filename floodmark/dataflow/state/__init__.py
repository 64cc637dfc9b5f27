"""State at rest: one kind of table a file; `dataflow.stages` hands them to the operators."""
