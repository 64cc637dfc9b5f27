"""Statements of a connection: definitions, DML, transactions, SHOW and EXPLAIN."""
