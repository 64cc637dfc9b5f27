"""Binding: names and types of the expressions of a query."""
