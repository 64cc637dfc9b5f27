"""Files of tables: their statistics, what selects them, what is taken over."""
