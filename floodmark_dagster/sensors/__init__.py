"""Sensors: new data, pipeline files, stalled watermarks."""
