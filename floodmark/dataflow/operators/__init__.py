"""How each operator makes its changes."""
