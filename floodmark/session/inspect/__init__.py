"""What a connection says of a warehouse."""
