"""Hadoop's default settings, cut down to those that matter on a machine without Hadoop.

Spark sends a copy of all of Hadoop's settings with each read and each write, and its jars bring
some 1,300 of them: for object stores, for HDFS, for YARN. The server that Floodmark starts reads
and writes local files. Sending the rest was 9 % of a warm server's processor time over epochs of
15,000 rows. Of the 134 that were left first, many for LDAP, Kerberos and encryption, copies were
3.7 % of it in a profile of two files of tests; 24 are left.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from pathlib import Path

_PROPERTY = re.compile(r"<property>.*?</property>", re.DOTALL)
_DESCRIPTION = re.compile(r"<description>.*?</description>", re.DOTALL)
_NAME = re.compile(r"<name>\s*(.*?)\s*</name>")
_KEPT = re.compile(
    r"io\.(file|serializations|compression\.codecs)|file\.|fs\.AbstractFileSystem\.file\."
    r"|fs\.(automatic|defaultFS|df|du|permissions)|fs\.client\.resolve\.remote"
    r"|hadoop\.(common|tmp|util|workaround)|hadoop\.security\.(auth|group\.mapping$)"
)
_EMPTY = ("hdfs-default.xml", "mapred-default.xml", "yarn-default.xml")
# Entries of a jar carry a time; a fixed one makes equal content an equal file.
_TIME = (2020, 1, 1, 0, 0, 0)


def defaults_jar(cache: Path, spark_jars: Path) -> tuple[Path, ...]:
    """Return the jar that goes on the class path in front of Hadoop's, made the first time.

    Nothing is returned where Spark's jars do not hold Hadoop's settings in the known place.
    """
    jars = sorted(spark_jars.glob("hadoop-client-api-*.jar"))
    if not jars:
        return ()
    with zipfile.ZipFile(jars[0]) as archive:
        if "core-default.xml" not in archive.namelist():
            return ()
        everything = archive.read("core-default.xml").decode()
    files = {"core-default.xml": _trim(everything), **{name: _document("") for name in _EMPTY}}
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    jar = cache / "jars" / f"hadoop-defaults-{digest}.jar"
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        partial = jar.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(partial, "w") as archive:
            for name, text in files.items():
                archive.writestr(zipfile.ZipInfo(name, _TIME), text)
        partial.replace(jar)
    return (jar,)


def _trim(text: str) -> str:
    kept = (item for item in _PROPERTY.findall(text) if _is_kept(item))
    return _document("".join(_DESCRIPTION.sub("", item) for item in kept))


def _is_kept(item: str) -> bool:
    name = _NAME.search(item)
    return name is not None and _KEPT.match(name[1]) is not None


def _document(properties: str) -> str:
    return f'<?xml version="1.0"?>\n<configuration>{properties}</configuration>\n'
