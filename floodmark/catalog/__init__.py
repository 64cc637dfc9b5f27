"""Named objects, and how one catalog becomes another."""
