"""The advance of each kind of object by one epoch: sources, tables, views, sinks."""
