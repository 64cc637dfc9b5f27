"""Formats of text files and of messages: how a line becomes a row."""
