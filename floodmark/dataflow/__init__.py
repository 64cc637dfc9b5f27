"""Incremental evaluation: the changes of a plan in one epoch, and the state of its operators."""
