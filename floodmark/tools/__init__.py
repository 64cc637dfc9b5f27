"""What works on a connection as a whole."""
