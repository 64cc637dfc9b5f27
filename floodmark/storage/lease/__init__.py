"""The lease: one writer per warehouse at a time."""
