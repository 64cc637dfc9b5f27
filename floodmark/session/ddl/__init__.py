"""Changes of definitions: the deployed ones, the desired ones, and the way from one to the other.

`deployed.py` reads a catalog version, `desired.py` the pipeline files and `altering.py` an ALTER;
`changes.py` is what differs, `deployment.py` the plan of it and `effects.py` that plan in rows.
`kept_rows.py`, `reshape.py`, `new_version.py` and `removal.py` carry it out in the first epoch.
"""
