"""Advice on plans."""
