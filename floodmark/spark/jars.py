"""Jars beside those of pyspark: resolved once with Spark's own Ivy, then taken from the cache."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from floodmark.errors import TransientError
from floodmark.spark.java import Java
from floodmark.spark.trust import PASSWORD, system_bundle, write_trust_store

RESOLVE_SECONDS = 300

_MODULES = (
    "delta-storage",
    "delta-kernel-api",
    "delta-kernel-defaults",
    "delta-kernel-unitycatalog",
)
# Spark ships newer ones of everything else that Delta names.
_EXCLUDED = (
    "com.fasterxml*:*,com.github*:*,com.google*:*,org.*:*,javax.*:*,commons-*:*,io.airlift:*,"
    "io.unitycatalog:*"
)
LOCAL_FILES = "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem"
"""Local files through Java: Hadoop's own class starts a `chmod` for each file that it makes."""
_LOCAL_FILES_JAR = "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0"


def spark_jars() -> Path:
    """Return the folder with the jars that come in the pyspark wheel, without importing it."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations))) / "jars"


def coordinates() -> tuple[str, ...]:
    """Return the Maven coordinates of the jars that fit the installed pyspark and Delta."""
    delta = version("delta-spark")
    spark = ".".join(version("pyspark").split(".")[:2])
    return (
        f"io.delta:delta-spark_{spark}_2.13:{delta}",
        *(f"io.delta:{module}:{delta}" for module in _MODULES),
        _LOCAL_FILES_JAR,
    )


def extra_jars(cache: Path, java: Java) -> tuple[Path, ...]:
    """Return the paths of the jars for Delta and local files, resolving them the first time.

    The repository is Maven Central, or that of the environment's `DEFAULT_ARTIFACT_REPOSITORY`.
    Raises TransientError E0510 if they cannot be resolved.
    """
    folder = cache / "jars" / f"delta-{version('delta-spark')}-spark-{version('pyspark')}"
    wanted = tuple(folder / _file_name(coordinate) for coordinate in coordinates())
    if not all(jar.is_file() for jar in wanted):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _resolve(Path(scratch), cache, java)
            folder.mkdir(exist_ok=True)
            for jar in wanted:
                shutil.move(Path(scratch) / "jars" / jar.name, jar)
    return wanted


def _file_name(coordinate: str) -> str:
    group, artifact, number = coordinate.split(":")
    return f"{group}_{artifact}-{number}.jar"


def _resolve(scratch: Path, cache: Path, java: Java) -> None:
    print("floodmark: resolving the Delta jars (once)", file=sys.stderr)  # noqa: T201
    missing, output = _run_ivy(scratch, java, ())
    bundle = system_bundle()
    if missing and "PKIX path building failed" in output and bundle is not None:
        store = cache / "truststore.p12"
        count = write_trust_store(bundle, store)
        print(  # noqa: T201
            f"floodmark: {java.executable} does not trust the repository's certificate; "
            f"trying with the {count} authorities of {bundle}",
            file=sys.stderr,
        )
        trust = (
            f"-Djavax.net.ssl.trustStore={store}",
            f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
            "-Djavax.net.ssl.trustStoreType=PKCS12",
        )
        missing, output = _run_ivy(scratch, java, trust)
    if missing:
        raise TransientError(
            "E0510",
            f"could not resolve {', '.join(missing)}",
            detail="\n".join(line for line in output.splitlines() if line.strip())[-2000:],
            hint="check the network, or set DEFAULT_ARTIFACT_REPOSITORY to a Maven mirror; "
            "later starts are offline",
        )


def _run_ivy(scratch: Path, java: Java, options: tuple[str, ...]) -> tuple[list[str], str]:
    """Resolve into `scratch`; return the names of jars still missing and Ivy's output.

    SparkSubmit resolves packages before it loads the main class, which does not exist here, so
    its exit code says nothing.
    """
    command = [
        *(str(java.executable), *options, "-cp", f"{spark_jars()}/*"),
        *("org.apache.spark.deploy.SparkSubmit", "--master", "local"),
        *("--conf", f"spark.jars.ivy={scratch}"),
        *("--packages", ",".join(coordinates()), "--exclude-packages", _EXCLUDED),
        *("--class", "floodmark.ResolveOnly", "spark-internal"),
    ]
    try:
        ran = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=RESOLVE_SECONDS,
            check=False,
        )
        output = ran.stdout
    except subprocess.TimeoutExpired:
        output = f"no answer within {RESOLVE_SECONDS} s"
    names = [_file_name(coordinate) for coordinate in coordinates()]
    return [name for name in names if not (scratch / "jars" / name).is_file()], output
