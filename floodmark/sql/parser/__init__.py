"""The parser: functions by family of statement, over a cursor.

`read_…` takes what it names from the cursor. `statement.py` knows the first words, and has the
grammar that a cursor is made with; each other file knows those below it.
"""
