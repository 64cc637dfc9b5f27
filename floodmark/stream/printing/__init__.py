"""Texts of operators and plans."""
