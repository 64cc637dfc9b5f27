"""How each kind of object takes in an epoch: sources, tables, views; what they share in `task`."""
