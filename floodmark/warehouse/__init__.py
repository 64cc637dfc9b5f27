"""The open warehouse: what it has, and what is in force in it."""
