"""What a query that ends at a row says of it; no Spark is asked."""

from __future__ import annotations

import pytest

from floodmark.catalog.functions.model import RowErrorCode
from floodmark.spark.failures import RAISED, translate


@pytest.mark.parametrize("code", RowErrorCode)
def test_every_reason_has_its_words(code: RowErrorCode) -> None:
    error = translate(RuntimeError(f"[USER_RAISED_EXCEPTION] {RAISED}{int(code)}}} SQLSTATE"))
    assert error.code == code.text and error.message and error.hint


_WORDS = "Encountered error while reading file"
FILES = {
    f"[FAILED_READ_FILE.FILE_NOT_EXIST] {_WORDS} file:///w/public/d/3-91/a b.parquet. File does "
    "not exist. SQLSTATE: KD001": ("E0457", "3-91/a b.parquet of the table in /w/public/d is gone"),
    "[PATH_NOT_FOUND] Path does not exist: file:/w/public/d/3-91/a.parquet. SQLSTATE: 42K03": (
        "E0457", "3-91/a.parquet of the table in /w/public/d is gone"
    ),
    f"[FAILED_READ_FILE.NO_HINT] {_WORDS} file:///in/x.parquet.  SQLSTATE: KD001": (
        "E0457", "/in/x.parquet cannot be read"
    ),
    "Job aborted: java.io.IOException: Mkdirs failed to create file:/proc/x/y/_temporary/0": (
        "E0458", "/proc/x/y"
    ),
    "Parent path is not a directory: file:/w/f": ("E0458", "/w/f"),
    "java.io.IOException: /w/x: Read-only file system": ("E0546", "the disk fails"),
}  # fmt: skip


@pytest.mark.parametrize("text", FILES)
def test_a_file_is_named_with_its_table(text: str) -> None:
    code, said = FILES[text]
    error = translate(RuntimeError(f"{text}\n\nJVM stacktrace:\norg.apache.spark.SparkException"))
    assert error.code == code and said in error.message and error.hint and error.detail


def test_what_spark_says_of_a_value_is_a_detail() -> None:
    class ArithmeticException(Exception):
        """As pyspark names it."""

    said = "[CAST_OVERFLOW] The value 9L cannot be cast. Use `try_cast`. SQLSTATE: 22003"
    error = translate(ArithmeticException(said))
    assert (error.code, error.detail) == ("E0601", said)
    assert error.message == "a number is out of range for the type that it is cast to"
