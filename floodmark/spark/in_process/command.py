"""The commands of a session that write files: small ones are carried out here."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from floodmark.limits import LIMITS
from floodmark.price import Price, charge, charge_time
from floodmark.spark.in_process import parquet
from floodmark.spark.in_process.choice import is_wanted
from floodmark.spark.in_process.frame import LargeQuery, UnsupportedQuery
from floodmark.spark.in_process.query import Query
from floodmark.spark.in_process.shapes import Attempts, shape_of
from floodmark.spark.queries import files_of, size_of
from floodmark.storage.plain_files import is_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_logger = logging.getLogger(__name__)
_ATTEMPTS = Attempts()
_ALONE = threading.Lock()


def compute_small_queries(session: SparkSession) -> None:
    """Carry out what is small here, whatever a session is to send from now on."""
    client: Any = session.client
    client.execute_command = _carry_out_or_send(client.execute_command)


def _carry_out_or_send(send: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(send)
    def execute(command: Any, observations: Mapping[str, Any] | None = None) -> Any:
        from pyspark.sql.metrics import ExecutionInfo

        if is_wanted() and carry_out_here(command, observations or {}):
            return None, {}, ExecutionInfo(None, [])
        return send(command, observations)

    return execute


def carry_out_here(command: Any, observations: Mapping[str, Any]) -> bool:
    """Compute the query of a command that writes Parquet files, and write them.

    The observations get what was to be observed. False, and nothing done, where Spark is to do it.
    """
    if command.WhichOneof("command_type") != "write_operation":
        return False
    size = 0
    for path in files_of(command):
        size += size_of(path)
        if size > LIMITS.in_process_bytes:
            return False
    with charge_time(_time), _share_memory(size):
        done = _write(command.write_operation, observations)
    if done:
        charge(Price(bytes_read=size))
    return done


@contextmanager
def _share_memory(size: int) -> Iterator[None]:
    """Let one query with large files at a time have its rows in memory, whoever else computes."""
    if size < LIMITS.in_process_alone_bytes:
        yield
        return
    import pyarrow as pa

    with _ALONE:
        try:
            yield
        finally:
            pa.default_memory_pool().release_unused()


def _time(seconds: float) -> Price:
    return Price(query_s=seconds)


def _write(target: Any, observations: Mapping[str, Any]) -> bool:
    import pyarrow as pa

    shape = None
    try:
        most = _most_rows(target)
        shape = shape_of(target.input)
        _ATTEMPTS.refuse_failed(shape)
        query = Query()
        rows = query.rows(target.input)
        if rows.rows > most:
            return False
        parts = parquet.parts_of(rows, next(iter(target.partitioning_columns), None))
        metrics = query.metrics()
    except Exception as error:
        # What is wrong with a file or a row, Spark says, and the engine has codes for it.
        if not isinstance(error, UnsupportedQuery | pa.ArrowException | ValueError | OSError):
            _logger.info("a query is sent to Spark: %s", error, exc_info=True)
        if shape is not None and not isinstance(error, LargeQuery):
            _ATTEMPTS.note(shape, done=False)
        return False
    _ATTEMPTS.note(shape, done=True)
    parquet.write(parts, target.path)
    for name in observations.keys() & metrics.keys():
        observations[name]._result.update(metrics[name])
    return True


def _most_rows(target: Any) -> int:
    """Return how many rows one file may have; `UnsupportedQuery` for other files than these."""
    options = dict(target.options)
    most = int(options.pop("maxRecordsPerFile", LIMITS.in_process_rows))
    fresh = target.mode == target.SAVE_MODE_ERROR_IF_EXISTS and not is_file(target.path)
    plain = target.source == "parquet" and (target.mode == target.SAVE_MODE_APPEND or fresh)
    if not plain or options or len(target.partitioning_columns) > 1:
        raise UnsupportedQuery("what is written is no plain file of Parquet")
    return most
