"""Closed windows computed once more, with the rows that came late, and what that corrects.

What a view has emitted on window close stays as it is: the differences go to a table beside it.
"""
