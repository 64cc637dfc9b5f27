"""Nexmark: queries q0 to q23, their data, and the systems that run them."""
