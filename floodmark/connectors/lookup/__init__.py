"""The connector `lookup`: external tables that are read by key."""
