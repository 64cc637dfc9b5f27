"""Stores besides Delta: in memory, of a replay, and with a condition."""
