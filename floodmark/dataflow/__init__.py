"""The changes of a plan in one epoch."""
