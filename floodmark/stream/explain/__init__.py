"""EXPLAIN: what a plan is and why."""
