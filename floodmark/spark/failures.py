"""What Spark's errors mean to a person."""

from __future__ import annotations

import re

from floodmark.errors import DataError, FloodmarkError, TransientError
from floodmark.scalar.functions.model import RowErrorCode
from floodmark.spark.remote import mask_secrets

_LOST = re.compile(
    r"StatusCode\.UNAVAILABLE|failed to connect|Connection refused|Socket closed|connection reset|"
    r"INVALID_HANDLE\.SESSION_(CLOSED|CHANGED|NOT_FOUND)|INVALID_CURSOR\.DISCONNECTED|"
    r"NO_ACTIVE_SESSION|closed channel|Application error processing RPC|"
    r"stopped SparkContext|SparkContext (was|has been) shut ?down",
    re.IGNORECASE,
)
LOST = "E0511"
"""The code of a server that is gone."""
ENDED = (LOST, "E0516")
"""The codes of a query that did not end by itself."""
UNKNOWN = "E0602"
"""The code of an error that means nothing in particular."""
_TOKEN = re.compile(r"UNAUTHENTICATED|PERMISSION_DENIED")
_INTERRUPTED = re.compile(
    r"OPERATION_CANCELED|OPERATION_ABANDONED|StatusCode\.CANCELLED|cancelled as part"
)
_DISK = re.compile(r"No space left on device|Disk quota exceeded|DiskFull", re.IGNORECASE)
_MEMORY = re.compile(r"OutOfMemoryError|UNABLE_TO_ACQUIRE_MEMORY|Cannot broadcast the table")

RAISED = "{floodmark:"
"""Starts the message of an error that a query raises; the row error's code and `}` follow."""
SAID = "{/floodmark}"
"""Ends what a user's function said, where that follows."""
NEGATIVE = 610
"""Stands for the code when something would be there less than no times (E0610)."""
_RAISED = re.compile(r"\{floodmark:(\d+)\}(?:(.*?)\{/floodmark\})?", re.DOTALL)
_MEANINGS = {
    RowErrorCode.DIVISION_BY_ZERO: "division by zero",
    RowErrorCode.NUMBER_OUT_OF_RANGE: "a number is out of range for its type",
    RowErrorCode.INVALID_TEXT: "a text is not a value of the type that it is cast to",
    RowErrorCode.TIME_OUT_OF_RANGE: "a date or time is out of range",
    RowErrorCode.INVALID_ARGUMENT: "a function does not take this argument",
    RowErrorCode.FUNCTION_RAISED: "a function that a user wrote raised an error",
    RowErrorCode.WRONG_RESULT: "a function that a user wrote returned another type than declared",
    RowErrorCode.SEVERAL_ROWS: "more than one row returned by a subquery used as an expression",
}

_UNREADABLE = re.compile(
    r"(?:FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER)\S*\] .*?file:(?P<read>/.*?)\.\s"
    r"|PATH_NOT_FOUND\] Path does not exist: file:(?P<gone>/.*?)\.\s"
    r"|FileNotFoundException: File file:(?P<lost>/.*?) does not exist"
)
_GONE = re.compile(r"FILE_NOT_EXIST|PATH_NOT_FOUND|FileNotFoundException")
_UNWRITABLE = re.compile(
    r"Mkdirs failed to create file:(?P<folder>/.*?)\s(?:\(|at )|Mkdirs failed to create file:(\S+)"
    r"|Parent path is not a directory: file:(\S+)|(/\S+) \(?(?:Permission denied|Is a directory)"
)
_BROKEN_DISK = re.compile(r"Read-only file system|Input/output error|Stale file handle")
_ATTEMPT = re.compile(r"(?P<table>.*)/(?P<file>\d+-\d+/[^/]+|epoch=.*)")

_VALUES = {
    "DIVIDE_BY_ZERO": "division by zero",
    "ARITHMETIC_OVERFLOW": "a number is out of range for its type",
    "NUMERIC_VALUE_OUT_OF_RANGE": "a number is out of range for its type",
    "CAST_OVERFLOW": "a number is out of range for the type that it is cast to",
    "CAST_INVALID_INPUT": "a text is not a value of the type that it is cast to",
    "DATETIME_OVERFLOW": "a date or time is out of range",
    "INVALID_ARRAY_INDEX": "there is no element of an array at such a place",
}
_CONDITION = re.compile(r"\[([A-Z_]+)[.\]]")
_SAID = re.compile(
    r"(\[(?!SPARK_JOB_CANCELLED)[A-Z_]{4,}(?:\.[A-Z_]+)?\]).*?(SQLSTATE: \w{5})", re.DOTALL
)
"""What Spark says with a condition; but for a reason to cancel, the words may be of a row."""

_DATA_KINDS = (
    "ArithmeticException",
    "DateTimeException",
    "NumberFormatException",
    "ArrayIndexOutOfBoundsException",
)
_DATA_STATES = ("22",)


def translate(error: BaseException) -> FloodmarkError:
    """Return the error that a person should see for one that pyspark or gRPC raised.

    - DataError E0621 to E0627: an expression refuses a row. E0610: changes that cannot be.
    - TransientError E0511, E0515 to E0518 and E0546: failures of the world.
    - DataError E0457: a file cannot be read. E0458: one cannot be written.
    - DataError E0601: an expression cannot take a value (SQLSTATE class 22).
    - E0602: the rest.
    """
    if isinstance(error, FloodmarkError):
        return error
    text = f"{error}\n{_status(error)}"
    # Neither what a row holds nor the name of a file tells what the world is at fault for.
    bare = _SAID.sub(r"\1 \2", text)
    known = _row_error(text) or _values(text, error) or _world(bare, error) or _files(text, error)
    return known or _rest(error)


def _row_error(text: str) -> FloodmarkError | None:
    match = _RAISED.search(text)
    if match is None:
        return None
    if int(match[1]) == NEGATIVE:
        return DataError(
            "E0610",
            "the changes retract rows that do not exist",
            hint="somebody else wrote into the warehouse, or this is a defect of Floodmark; drop "
            "the object and create it again",
        )
    code = RowErrorCode(int(match[1]))
    return DataError(
        code.text,
        _MEANINGS[code] + (f": {match[2]}" if match[2] else ""),
        hint="filter such rows out, or guard the expression with CASE or NULLIF",
    )


def _world(text: str, error: BaseException) -> FloodmarkError | None:
    first = _first_line(error)
    if _TOKEN.search(text):
        return TransientError(
            "E0515",
            "the Spark server refuses this client's token",
            detail=first,
            hint="for a remote server set SPARK_CONNECT_AUTHENTICATE_TOKEN; "
            "a local one is repaired by `floodmark server stop`",
        )
    if _BROKEN_DISK.search(text):
        return TransientError(
            "E0546",
            "the disk fails: Spark cannot read or write there",
            detail=first,
            hint="look at the disk and its mount; the next run goes on where this one stopped",
        )
    if _DISK.search(text):
        return TransientError(
            "E0517",
            "the disk is full",
            detail=first,
            hint="free some space and run again: the epoch resumes at the first uncommitted object",
        )
    if _MEMORY.search(text):
        return TransientError(
            "E0518",
            "the Spark server ran out of memory",
            detail=first,
            hint="give it more memory, or cut the input into smaller epochs",
        )
    if _INTERRUPTED.search(text):
        return TransientError("E0516", "the query was interrupted", detail=first)
    if _LOST.search(text):
        return server_loss(error)
    return None


def server_loss(error: BaseException) -> TransientError:
    """Return the error of a server that is gone, or given up, for what a call to it raised."""
    return TransientError(
        LOST,
        "the Spark server is gone",
        detail=_first_line(error),
        hint="run again: a local server is started anew; "
        "its last words are in the log that `floodmark server status` names",
    )


def _files(text: str, error: BaseException) -> FloodmarkError | None:
    """Return what is wrong with a file that Spark reads or writes; None for anything else."""
    first = _first_line(error)
    if (match := _UNREADABLE.search(text)) is not None:
        return _unreadable(_path(match), gone=_GONE.search(text) is not None, first=first)
    if (match := _UNWRITABLE.search(text)) is not None:
        return DataError(
            "E0458",
            f"Spark cannot write to {_path(match)}",
            detail=first,
            hint="make the folder writable for whoever runs the Spark server, then RESUME",
        )
    return None


def _path(match: re.Match[str]) -> str:
    path = next(group for group in match.groups() if group)
    return re.sub("^/+", "/", path)


def _unreadable(path: str, *, gone: bool, first: str) -> DataError:
    split = _ATTEMPT.fullmatch(path)
    what = "is gone" if gone else "cannot be read: it is damaged, or of other columns"
    whose = "" if split is None else f" of the table in {split['table']}"
    return DataError(
        "E0457",
        f"the file {path if split is None else split['file']}{whose} {what}",
        detail=first,
        hint="put the file back from a backup, then RESUME the suspended objects; or drop the "
        "object of the table and create it again",
    )


def _values(text: str, error: BaseException) -> FloodmarkError | None:
    state = getattr(error, "getSqlState", lambda: None)() or ""
    if type(error).__name__ in _DATA_KINDS or state.startswith(_DATA_STATES):
        condition = _CONDITION.search(text)
        known = None if condition is None else _VALUES.get(condition[1])
        return DataError(
            "E0601",
            known or "an expression has no result for some value",
            detail=_first_line(error),
            hint="filter such rows out, or use an expression that yields NULL for them",
        )
    return None


def _rest(error: BaseException) -> FloodmarkError:
    return FloodmarkError(
        UNKNOWN,
        "Spark could not run the query: " + _first_line(error),
        detail=type(error).__name__,
        hint="this is a defect of Floodmark unless the message names a table of yours",
    )


def _status(error: BaseException) -> str:
    for name in ("getGrpcStatusCode", "code"):
        ask = getattr(error, name, None)
        if callable(ask):
            return str(ask())
    return ""


def _first_line(error: BaseException) -> str:
    asked = getattr(error, "details", None)
    text = mask_secrets(str((asked() if callable(asked) else None) or error))
    lines = (line.strip() for line in text.splitlines())
    # An error of gRPC without details begins with the name of its class in angle brackets.
    note = (line for line in lines if line and not line.startswith("<_"))
    return next(note, type(error).__name__)
