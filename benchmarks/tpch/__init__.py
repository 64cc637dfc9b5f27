"""TPC-H: queries q1 to q22 as views, their data, and refreshes of it."""
