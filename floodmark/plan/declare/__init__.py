"""What CREATE says of sources, tables and functions, read and checked."""
