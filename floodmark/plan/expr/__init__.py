"""Expressions of a logical plan, and what can be said of them."""
