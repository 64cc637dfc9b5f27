"""Derived properties of operators: keys, changelog modes, watermarks, state."""
