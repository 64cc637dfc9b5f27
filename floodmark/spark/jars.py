"""Jars beside those of pyspark: resolved once with Spark's own Ivy, then taken from the cache."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from floodmark.errors import DataError, TransientError
from floodmark.limits import LIMITS
from floodmark.spark.java import Java
from floodmark.spark.trust import PASSWORD, system_bundle, write_trust_store

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

_SHA256: Mapping[str, str] = {
    "com.globalmentor_hadoop-bare-naked-local-fs-0.1.0.jar":
        "e0cc30fb0531eb0b59468dc0abf5b257533d2365b5e9f45e795edd707aa78c62",
    "io.delta_delta-kernel-api-4.4.0.jar":
        "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11",
    "io.delta_delta-kernel-defaults-4.4.0.jar":
        "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b",
    "io.delta_delta-kernel-unitycatalog-4.4.0.jar":
        "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa",
    "io.delta_delta-spark_4.2_2.13-4.4.0.jar":
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    "io.delta_delta-storage-4.4.0.jar":
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}  # fmt: skip
"""The jars that this version was tested with; others, under the same names, are not run."""


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
    Raises TransientError E0510 if they cannot be resolved, DataError E0451 if one is another than
    was tested.
    """
    folder = cache / "jars" / f"delta-{version('delta-spark')}-spark-{version('pyspark')}"
    wanted = tuple(folder / _file_name(coordinate) for coordinate in coordinates())
    if not all(jar.is_file() for jar in wanted):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _resolve(Path(scratch), cache, java)
            resolved = [Path(scratch) / "jars" / jar.name for jar in wanted]
            check_jars(resolved)
            folder.mkdir(exist_ok=True)
            for jar, target in zip(resolved, wanted, strict=True):
                shutil.move(jar, target)
    check_jars(wanted)
    return wanted


def check_jars(jars: Iterable[Path]) -> None:
    """Raise DataError E0451 for a jar whose content is not that of its name."""
    for jar in jars:
        with jar.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != _SHA256.get(jar.name):
            raise DataError(
                "E0451",
                f"{jar.name} is not the jar that this version of Floodmark was tested with",
                detail=f"SHA-256 {digest}, expected {_SHA256.get(jar.name, 'none of that name')}",
                hint=f"ask who runs the repository of jars; if {jar} was damaged, remove it and "
                "run again",
            )


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
            timeout=LIMITS.jars_seconds,
            check=False,
        )
        output = ran.stdout
    except subprocess.TimeoutExpired:
        output = f"no answer within {LIMITS.jars_seconds} s"
    names = [_file_name(coordinate) for coordinate in coordinates()]
    return [name for name in names if not (scratch / "jars" / name).is_file()], output
