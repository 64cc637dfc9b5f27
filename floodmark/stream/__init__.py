"""What is derived of a plan: keys, changelog modes, watermarks, state."""
