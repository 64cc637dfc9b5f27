"""The report of a warehouse as one page."""
