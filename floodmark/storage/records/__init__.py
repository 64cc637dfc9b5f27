"""Records of logs: their text, their typed bodies, steps between formats."""
