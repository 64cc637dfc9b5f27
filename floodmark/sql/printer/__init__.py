"""The printer: statements as normalised text, by family of statement."""
