"""What is derived of each operator: keys, modes, watermarks, state."""
