"""The connector `files`: a folder that grows, of Parquet, CSV or JSON lines."""
