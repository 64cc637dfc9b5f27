"""Sessions, the server, and expressions as text for Spark."""
