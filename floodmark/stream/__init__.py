"""Streaming plans: keys, changelog modes, watermarks and state, derived from logical plans."""
