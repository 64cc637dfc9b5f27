"""Passes over a plan, from the query to what runs."""
