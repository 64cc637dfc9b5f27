"""Intake: rows from outside to typed rows; refused and late rows go aside."""
