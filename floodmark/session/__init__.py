"""What a connection does with statements."""
