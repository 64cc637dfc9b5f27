"""Partitions: what an operator recomputes of its inputs, whole or within frames."""
