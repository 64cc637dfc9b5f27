"""The oracle of the tests: the same plans over Python rows."""
