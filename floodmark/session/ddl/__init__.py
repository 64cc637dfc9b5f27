"""Changes of definitions: the deployed ones, the desired ones, and the way from one to the other.

`desired.py` reads the pipeline files and `altering.py` an ALTER. `deployment.py` is the plan of
what differs, and `effects.py` tells its effects in rows. `rehearsal.py` derives the new version
before it is logged. The first epoch of the version carries it out: `floodmark.epochs.objects`.
"""
