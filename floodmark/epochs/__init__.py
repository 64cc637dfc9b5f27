"""The epoch loop: what opens, advances, seals and recovers epochs."""
