"""Declarations: CREATE of sources, tables and functions, bound and checked."""
