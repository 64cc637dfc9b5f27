"""External sinks: the changes of an epoch are written outside exactly once.

The rows come from files that are committed in the warehouse, so a second attempt of an epoch writes
the same rows. Files are named after sink, epoch and part; a Delta table records the epoch as its
transaction. Finally the table `sent` in the warehouse records that the epoch is complete outside.
"""
