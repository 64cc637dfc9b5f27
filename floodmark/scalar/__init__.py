"""What a value is and what a function means."""
