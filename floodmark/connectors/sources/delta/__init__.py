"""The connector `delta`: a Delta table that any program writes, commit by commit."""
