"""The planner: from a parsed query to a logical plan, independent of Spark and Delta."""
