"""What a query that ends at a row says of it; no Spark is asked."""

from __future__ import annotations

import pytest

from floodmark.errors import TransientError
from floodmark.scalar.functions.model import RowErrorCode
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
    f"[FAILED_READ_FILE.NO_HINT] {_WORDS} file:///in/x.parquet.  SQLSTATE: KD001\nCaused by: "
    "java.io.IOException: Input/output error": ("E0546", "the disk fails"),
    "[TASK_WRITE_FAILED] Task failed while writing rows to file:/w/x. SQLSTATE: 58030\nCaused by: "
    "java.io.IOException: No space left on device": ("E0517", "the disk is full"),
}  # fmt: skip


@pytest.mark.parametrize("text", FILES)
def test_a_file_is_named_with_its_table(text: str) -> None:
    code, said = FILES[text]
    error = translate(RuntimeError(f"{text}\n\nJVM stacktrace:\norg.apache.spark.SparkException"))
    assert error.code == code and said in error.message and error.hint and error.detail


WORLD = [
    "Input/output error", "No space left on device", "OutOfMemoryError", "PERMISSION_DENIED",
    "OPERATION_CANCELED", "Connection refused", "java.io.IOException: Disk quota exceeded",
]  # fmt: skip


@pytest.mark.parametrize("value", WORLD)
def test_a_value_that_sounds_like_the_world_is_data(value: str) -> None:
    class NumberFormatException(Exception):
        """As pyspark names it."""

        def getSqlState(self) -> str:
            return "22018"

    said = (
        f"[CAST_INVALID_INPUT] The value '{value}' of the type \"STRING\" cannot be cast to "
        '"INT" because it is malformed. SQLSTATE: 22018'
    )
    assert translate(NumberFormatException(said)).code == "E0601"
    # Where a job was aborted for it, the class of the error says nothing.
    within = translate(RuntimeError(f"Job aborted: SparkNumberFormatException: {said}\n\tat x.y"))
    assert not isinstance(within, TransientError)
    gone = f"[PATH_NOT_FOUND] Path does not exist: file:/w/{value}/3-91/a.parquet. SQLSTATE: 42K03"
    assert translate(RuntimeError(gone)).code == "E0457"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("cancelled because SparkContext was shut down", "E0511"),
        ("cancelled as part of cancellation of all jobs", "E0516"),
    ],
)
def test_why_a_job_was_cancelled_is_the_world(reason: str, code: str) -> None:
    said = f"[SPARK_JOB_CANCELLED] Job 3 {reason}. SQLSTATE: XXKDA"
    assert translate(RuntimeError(said)).code == code


def test_what_spark_says_of_a_value_is_a_detail() -> None:
    class ArithmeticException(Exception):
        """As pyspark names it."""

    said = "[CAST_OVERFLOW] The value 9L cannot be cast. Use `try_cast`. SQLSTATE: 22003"
    error = translate(ArithmeticException(said))
    assert (error.code, error.detail) == ("E0601", said)
    assert error.message == "a number is out of range for the type that it is cast to"
