"""EMIT ON WINDOW CLOSE: the pass, what it asks of a query, and what to do about a refused one."""
