"""The epoch loop: it opens, advances, seals and recovers epochs."""
