"""Intake: rows from outside to typed rows; what is not taken in goes aside."""
