"""Typed expressions of a logical plan: evaluation, printing and analysis."""
