"""Batch queries: a SELECT at one cut, and DML and COPY as queries."""
