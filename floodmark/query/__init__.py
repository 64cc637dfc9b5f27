"""A SELECT at one cut."""
