"""What lies at rest, and how a reader sees it."""
