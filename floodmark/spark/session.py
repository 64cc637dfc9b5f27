"""Sessions on a server: one for the engine, one for reading text files.

Nothing but what Connect sessions and classic ones share is used on them; at run time no temporary
views and no confs are set on them, because threads share them.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from floodmark.errors import FloodmarkError, TransientError
from floodmark.limits import LIMITS
from floodmark.spark import server
from floodmark.spark.confs import PLANNING, SEMANTIC, SparkConfig
from floodmark.spark.deadline import Deadline
from floodmark.spark.failures import ENDED, LOST, UNKNOWN, server_loss, translate
from floodmark.spark.launch import NONCE_CONF, TOKEN_VARIABLE
from floodmark.spark.queries import charge_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark keeps generated code per class loader, and Connect gives each session one of its own. So
# every process would compile everything anew: 300 pieces and 20 s of processor time for the demo.
_SHARED_CLASSES: Mapping[str, str] = {
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
}

_REFUSED = ("E0510", "E0512", "E0513", "E0514", "E0515")
"""What a server that stays says of its start, its settings and its token."""

# Spark never cuts a text file into splits and never packs two into one, so that row numbers
# within a file are dense and ordered.
_INGEST: Mapping[str, str] = {
    "spark.sql.files.maxPartitionBytes": str(2**40),
    "spark.sql.files.openCostInBytes": str(2**40),
}


class Sessions:
    """The sessions of one process on one server; close them, or use them in a `with` block.

    `main` is for everything; `ingest` reads text files in whole, its own session because its
    split confs must not reach the others. Those that are `lost` are of no use any more: their
    server is gone, or was given up.
    """

    def __init__(
        self,
        main: SparkSession,
        make_ingest: Callable[[], SparkSession],
        hold: server.Attachment | None = None,
    ) -> None:
        self.main = main
        self.lost = False
        self._given_up = False
        self._make_ingest = make_ingest
        self._hold = hold
        self._ingest: SparkSession | None = None
        self._lock = threading.Lock()
        # A session that nobody ended is ended when Python is half gone, where gRPC waits for ever.
        atexit.register(self.close)

    @property
    def ingest(self) -> SparkSession:
        """Return the session for text files, made at first use.

        What this thread starts there has the tags that its queries have in the main session.
        """
        with self._lock:
            if self._ingest is None:
                self._ingest = self._make_ingest()
        self._ingest.clearTags()
        for tag in self.main.getTags():
            self._ingest.addTag(tag)
        return self._ingest

    def interrupt_all(self) -> None:
        """Interrupt every query of these sessions; Ctrl-C alone reaches only the main thread."""
        for session in (self.main, self._ingest):
            if session is not None:
                session.interruptAll()

    @contextmanager
    def guard(self, what: str = "a query", seconds: float | None = None) -> Iterator[None]:
        """Turn what pyspark and gRPC raise in the block into Floodmark's errors.

        `what` runs there is shown by `floodmark server status`. Its queries end after `seconds`,
        with the server where they do not end otherwise: DataError E0459. Others go on.
        """
        from grpc import RpcError
        from pyspark.errors import PySparkException

        tag = secrets.token_hex(8)
        deadline = None if seconds is None else self._deadline(what, tag, seconds)
        shown = nullcontext() if self._hold is None else self._hold.client_file.running(what)
        try:
            with shown, self._tag(tag):
                yield
        except Exception as error:
            known = isinstance(error, PySparkException | RpcError | TransientError)
            if not (known or self._given_up):
                raise
            note = self._meaning(error)
            self.lost |= note.code == LOST and note is not error
            if deadline is not None and deadline.passed and note.code in ENDED:
                raise deadline.error() from error
            if note is error:
                raise
            raise note from error
        finally:
            if deadline is not None:
                deadline.end()

    def _meaning(self, error: Exception) -> FloodmarkError:
        """Return the error to raise; a server that ends, or was given up, fails in many ways."""
        if self._given_up:
            return server_loss(error)
        note = translate(error)
        return note if note.code != UNKNOWN or self._answers() else server_loss(error)

    def _answers(self) -> bool:
        """Tell whether the server runs the simplest query."""
        try:
            self.main.range(1).collect()
        except Exception:
            return False
        return True

    @contextmanager
    def _tag(self, tag: str) -> Iterator[None]:
        """Give the queries of this thread a tag."""
        self.main.addTag(tag)
        try:
            yield
        finally:
            self.main.removeTag(tag)

    def _deadline(self, what: str, tag: str, seconds: float) -> Deadline:
        def interrupt() -> None:
            for session in (self.main, self._ingest):
                if session is not None:
                    session.interruptTag(tag)

        return Deadline(what, seconds, interrupt, self.abandon)

    def abandon(self) -> None:
        """Give the sessions up, and with them a server of this machine: all that runs ends."""
        self.lost = self._given_up = True
        if self._hold is not None:
            server.replace(self._hold)
            return
        # What a server of others does is theirs: every call of these sessions fails.
        for session in (self.main, self._ingest):
            if session is not None:
                session.client.close()

    def close(self) -> None:
        """End the sessions; the server stays. A dead server is no error here.

        Happens by itself at the end of the process.
        """
        atexit.unregister(self.close)
        with ExitStack() as ends:
            if self._hold is not None:
                # The watchdog of the server would wait for this process to end.
                ends.callback(self._hold.release)
            for session in (self.main, self._ingest):
                if session is not None:
                    ends.callback(session.stop)

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_sessions(config: SparkConfig) -> Sessions:
    """Open the sessions for `config`, starting its local server if it does not run.

    Raises TransientError E0510 to E0515 if no session can be had, E0513 if the server's confs are
    not those the engine relies on, UserError E0450 for a remote address that is none.
    """
    _silence()
    if config.remote is not None:
        config.remote.check()
        return _open(config.remote.url, config.session_confs)
    opened = _open_patiently(config)
    if opened is not None:
        return opened
    with _attach(config) as hold:
        return _open_local(config, hold, LIMITS.server_answer_seconds)


def _open_patiently(config: SparkConfig) -> Sessions | None:
    """Open sessions on a server; None where it ended, or was ended as it opened none."""
    with _attach(config) as hold:
        # Its start, be it by another client, may take longer than an answer.
        last = time.monotonic() + LIMITS.server_answer_seconds
        while True:
            try:
                return _open_local(config, hold, last - time.monotonic())
            except FloodmarkError as error:
                # A server that is about to end still takes connections, and fails in many ways.
                if error.code in _REFUSED:
                    raise
                if server.ends(hold):
                    break
                if error.code not in (LOST, UNKNOWN):
                    raise
                if time.monotonic() >= last:
                    server.replace(hold)
                    break
    hold.release()
    return None


@contextmanager
def _attach(config: SparkConfig) -> Iterator[server.Attachment]:
    """Attach for the block, and for longer if nothing is raised there."""
    hold = server.attach(config)
    try:
        yield hold
    except BaseException:
        hold.release()
        raise


def _open_local(config: SparkConfig, hold: server.Attachment, seconds: float) -> Sessions:
    """Open sessions on a server that has so many seconds to answer; E0511 where it does not."""

    def open_session() -> Sessions:
        expected = {**config.session_confs, NONCE_CONF: hold.nonce}
        return _open(hold.url, expected, hold)

    return _run_with_timeout(seconds, open_session)


def _run_with_timeout(seconds: float, action: Callable[[], Sessions]) -> Sessions:
    """Return what an action gives; E0511 where that takes longer, and it is left alone."""
    result: Future[Sessions] = Future()

    def act() -> None:
        try:
            result.set_result(action())
        except BaseException as error:
            result.set_exception(error)

    # Nobody waits for it at the end of the process, as for the thread of an executor.
    threading.Thread(target=act, daemon=True).start()
    try:
        return result.result(seconds)
    except TimeoutError:
        raise TransientError(
            LOST,
            f"the Spark server does not answer: {seconds:.0f} s have passed",
            hint="run again: it is replaced; its log is named by `floodmark server status`",
        ) from None


def _open(url: str, expected: Mapping[str, str], hold: server.Attachment | None = None) -> Sessions:
    if hold is None:
        create = partial(_create, url, None)
        confs: Mapping[str, str] = {**SEMANTIC, **PLANNING}
    else:
        create, confs = partial(_create_sharing, hold), {}
    main = create(confs)
    try:
        _assert_confs(main, expected)
    except BaseException as error:
        main.stop()
        raise translate(error) if isinstance(error, Exception) else error from error
    return Sessions(main, partial(create, {**confs, **_INGEST}), hold)


def _create_sharing(hold: server.Attachment, confs: Mapping[str, str]) -> SparkSession:
    """Make a session of a local server that shares generated code with those made like it.

    The server decides it when a session is made, and the confs of its command line do not reach
    that point; those of a session that is copied do.
    """
    model = _create(hold.url, hold.token, {**confs, **_SHARED_CLASSES})
    try:
        session_id = str(uuid.uuid4())
        model.client.clone(session_id).close()
    except Exception as error:
        raise translate(error) from error
    finally:
        model.stop()
    session = _create(f"{hold.url}/;session_id={session_id}", hold.token, {})
    hold.client_file.mark(session)
    return session


def _create(url: str, token: str | None, confs: Mapping[str, str]) -> SparkSession:
    """Make a session; `token` is that of a local server, None for a remote one."""
    from pyspark.sql import SparkSession

    from floodmark.spark.in_process.command import compute_small_queries

    if token is not None:
        # pyspark reads it once, here; sessions on another server may have set theirs before.
        os.environ[TOKEN_VARIABLE] = token
    # `getOrCreate` would silently return a session of another server.
    builder: Any = SparkSession.builder
    session: SparkSession = builder.remote(url).create()
    try:
        _retry_briefly(session, local=token is not None)
        charge_queries(session)
        compute_small_queries(session)
        for key, value in confs.items():
            session.conf.set(key, value)
    except BaseException as error:
        # An open client calls its server once more at exit, and waits for a dead one.
        session.stop()
        raise translate(error) if isinstance(error, Exception) else error from error
    return session


def _retry_briefly(session: SparkSession, local: bool) -> None:
    """Let calls to a dead server fail: at once if it was local, within a minute if remote.

    pyspark's own policy waits ten minutes.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    retries, longest_ms = (3, 400) if local else (8, 10_000)
    policy = DefaultPolicy(max_retries=retries, max_backoff=longest_ms)
    session.client.set_retry_policies([policy])


def _assert_confs(session: SparkSession, expected: Mapping[str, str]) -> None:
    """Compare confs in one round trip."""
    keys = [(key, "") for key in expected]
    values = session.client.get_config_with_defaults(*keys)
    different = [
        f"{key}: {actual or 'not set'}, expected {wanted}"
        for (key, wanted), actual in zip(expected.items(), values, strict=True)
        if actual is None or actual.lower() != wanted.lower()
    ]
    if different:
        raise TransientError(
            "E0513",
            "the Spark server runs with other settings than Floodmark relies on",
            detail="\n".join(f"  {line}" for line in different),
            hint="stop it with `floodmark server stop`; for a remote server, change its settings",
        )


def _silence() -> None:
    """Keep pyspark from printing each failed query as JSON; the error itself says it."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).disabled = True
