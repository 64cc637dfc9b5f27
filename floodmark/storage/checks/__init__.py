"""Checks of a warehouse: its records, its files, its tables."""
