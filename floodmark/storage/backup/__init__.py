"""Backups: made while epochs go on, and restored."""
