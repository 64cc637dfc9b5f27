"""Incremental evaluation of each operator: its changes from the changes of its inputs."""
