"""The logs of a warehouse: epochs, definitions, backfills, and single records beside them."""
