"""State at rest: one kind of table a file; `runtime.stages` hands them to the operators."""
