"""What the engine is measured against: delta-spark on the same server, from the same files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Appends:
    """A Delta table that takes files by append."""

    def __init__(self, spark: Any, table: Path, files: Iterator[Path]) -> None:
        self.spark = spark
        self.table = table
        self.files = files

    def step(self) -> None:
        """Append one file."""
        frame = self.spark.read.parquet(str(next(self.files)))
        frame.write.format("delta").mode("append").save(str(self.table))


class Merges:
    """A Delta table of groups that takes files by MERGE and hands on its change feed."""

    def __init__(self, spark: Any, table: Path, files: Iterator[Path]) -> None:
        self.spark = spark
        self.table = table
        self.files = files
        self.version = 0

    def fill(self, file: Path) -> None:
        """Create the table from a file's groups."""
        self.spark.sql(
            f"CREATE TABLE delta.`{self.table}` USING delta "
            "TBLPROPERTIES (delta.enableChangeDataFeed = true) "
            f"AS {self._groups(file)}"
        ).collect()

    def step(self) -> None:
        """Merge one file's groups, then read what that changed."""
        self.spark.sql(
            f"MERGE INTO delta.`{self.table}` t USING ({self._groups(next(self.files))}) s "
            "ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET t.n = t.n + s.n, t.total = t.total + s.total "
            "WHEN NOT MATCHED THEN INSERT *"
        ).collect()
        self.version += 1
        feed = self.spark.read.format("delta").option("readChangeFeed", "true")
        feed = feed.option("startingVersion", self.version).option("endingVersion", self.version)
        feed.load(str(self.table)).write.format("noop").mode("overwrite").save()

    @staticmethod
    def _groups(file: Path) -> str:
        return f"SELECT k, count(*) AS n, sum(v) AS total FROM parquet.`{file}` GROUP BY k"
