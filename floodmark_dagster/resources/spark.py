"""Spark for Dagster: the engine's own session, shared with a user's PySpark assets."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

from dagster import InitResourceContext
from dagster_pyspark import LazyPySparkResource
from pydantic import Field, PrivateAttr

from floodmark.spark.confs import SparkConfig, default_config
from floodmark.spark.session import Sessions, open_sessions


class FloodmarkSpark(LazyPySparkResource):
    """Attach to the warm Spark server when a session is first asked for, and leave it running.

    `spark_config` holds further confs of the local server; a different set means another server.
    dagster-pyspark itself would hand out whatever session the process has, with foreign confs.
    """

    spark_config: dict[str, Any] = Field(default_factory=dict)
    _sessions: Sessions | None = PrivateAttr(default=None)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def config(self) -> SparkConfig:
        """Return the configuration of the server."""
        extra = tuple(sorted((key, str(value)) for key, value in self.spark_config.items()))
        return dataclasses.replace(default_config(), extra=extra)

    @property
    def sessions(self) -> Sessions:
        """Return the engine's sessions, opened at first use and where those before are lost."""
        self._init_session()
        assert self._sessions is not None
        return self._sessions

    def _init_session(self) -> None:
        # Objects advance in threads: two of them would open two, and close one.
        with self._lock:
            if self._sessions is not None and self._sessions.lost:
                self.close()
            if self._sessions is None:
                self._sessions = open_sessions(self.config)
                self._spark_session = self._sessions.main

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """End the sessions; the server stays for the next run."""
        self.close()

    def close(self) -> None:
        """End the sessions; the next use opens new ones.

        A process that ends with open sessions can wait for them for minutes.
        """
        if self._sessions is not None:
            self._sessions.close()
            self._sessions = self._spark_session = None
