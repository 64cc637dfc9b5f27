"""Filling a large new view without the lease, while epochs go on for the other objects.

`choice.py` says which views are backfilled and which join the cut; `step.py` does the rows of a
sealed epoch, then what later epochs changed, several at once; `workers.py` runs steps beside the
epochs; `progress.py` says how far they are.
"""
