"""Resources: the warehouse, the Spark server, the clock."""
