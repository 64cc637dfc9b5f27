"""Files of the engine by the names that Spark knows: here alone such a name is a path of a disk.

Above `storage`, files of tables are opened, read and written by the functions of this module.

Something else may have the name of a file, and nobody waits for it. A folder, a pipe, a socket and
a link to any of them or to nothing is no file. It is an error of its path, and never taken for a
file that is not there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet as pq


def read_plain(path: Path) -> bytes:
    """Return the bytes of a file; `FileNotFoundError` where nothing has the name.

    Raises `OSError` for what is no file, at once: who opens a pipe waits for its writer.
    """
    check_plain(path)
    return path.read_bytes()


def plain(path: str | Path) -> str:
    """Return the path that Arrow opens to read a file; raises what `read_plain` does."""
    check_plain(Path(path))
    return str(path)


def check_plain(path: Path) -> os.stat_result:
    """Return what the system says of a file; raises what `read_plain` does."""
    try:
        info = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(errno.EINVAL, "it is a link to nothing", str(path)) from None
        raise
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return info


def is_file(path: str) -> bool:
    """Tell whether a file is there."""
    return Path(path).exists()


def file_size(path: str) -> int:
    """Return the bytes of a file; raises what `read_plain` does."""
    return check_plain(Path(path)).st_size


def open_parquet(path: str, coded: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a Parquet file of a table, by a path of `Store.paths`.

    The columns `coded` come as numbers into dictionaries, as they may be kept.

    Raises what `read_plain` does, and `OSError` for what is no Parquet file.
    """
    from pyarrow import parquet as pq

    with _path_errors(path):
        return pq.ParquetFile(plain(path), read_dictionary=list(coded))


def read_parquet(path: str, columns: Sequence[str]) -> pa.Table:
    """Return some columns of such a file; folders that its path names say nothing of its rows.

    Raises what `open_parquet` does.
    """
    from pyarrow import parquet as pq

    with _path_errors(path):
        return pq.read_table(plain(path), columns=list(columns), partitioning=None)


def parquet_footer(path: str | Path) -> pq.FileMetaData:
    """Return what the footer of such a file says; raises what `open_parquet` does."""
    from pyarrow import parquet as pq

    with _path_errors(path):
        return pq.read_metadata(plain(path))


@contextmanager
def _path_errors(path: str | Path) -> Iterator[None]:
    """Let Arrow's error of a file that is none of its kind be an error of the path."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        raise OSError(errno.EINVAL, str(error), str(path)) from error


def parquet_writer(path: str, schema: pa.Schema, **options: Any) -> pq.ParquetWriter:
    """Return the writer of a Parquet file, whose folder is made.

    Until it is closed there is no file to rely on.
    """
    from pyarrow import parquet as pq

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(path, schema, **options)


def is_other(path: Path) -> bool:
    """Tell whether something has a name that is no file."""
    return os.path.lexists(path) and not path.is_file()
