"""Stored rows and how a reader sees them: layout, cuts, current rows, validity, bounds."""
