"""What CREATE says of sources and tables, read and checked."""
