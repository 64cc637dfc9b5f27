"""The objects of a pipeline, analysed, and how they depend on each other."""
