"""Stores of objects, which hold a warehouse: one contract, on a disk and in memory."""
