"""Floodmark in Dagster: each object an asset, each run advances them by epochs."""
