"""COPY: reading and writing files of rows."""
