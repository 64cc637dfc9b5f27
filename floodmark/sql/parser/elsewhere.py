"""Statements and kinds of objects that other systems have, with what takes their place here."""

from __future__ import annotations

from floodmark.errors import NotSupported, Span

_FOLDER = "there are no users and rights: the rights of the warehouse's folder decide"
_ONE_AT_A_TIME = "write the statement itself each time: nothing is prepared or fetched in parts"
_NO_LOCKS = "leave it out: an epoch sees one version of every table"
_OPTIONS = "write what it says into the options of the source or sink: WITH (connector = …)"
STATEMENTS = {
    "merge": "write INSERT INTO a table with ON CONFLICT, or a sink INTO it",
    "truncate": "write DELETE FROM t",
    "grant": _FOLDER,
    "revoke": _FOLDER,
    "vacuum": "old files are removed by the warehouse's retention",
    "optimize": "small files are put together by the warehouse's maintenance",
    "analyze": "leave it out: statistics are kept with each write",
    "refresh": "leave it out: a view is up to date with each epoch; FLUSH waits for one",
    "reindex": "leave it out: an index is a hint, and is not stored",
    "comment": "write comments as -- in the pipeline file",
    "call": "write the statements of the procedure one after the other",
    "do": "write the statements of the block one after the other",
    "prepare": _ONE_AT_A_TIME,
    "execute": _ONE_AT_A_TIME,
    "declare": _ONE_AT_A_TIME,
    "fetch": _ONE_AT_A_TIME,
    "lock": _NO_LOCKS,
    "savepoint": "BEGIN and COMMIT hold for all statements between them",
    "release": "BEGIN and COMMIT hold for all statements between them",
    "listen": "floodmark watch prints what changes as epochs seal",
    "notify": "floodmark watch prints what changes as epochs seal",
    "reset": "write SET name = DEFAULT",
    "use": "write the schema in front of the name: s.t",
    "upsert": "write INSERT INTO t: a row whose key is there takes its place",
    "replace": "write INSERT INTO t: a row whose key is there takes its place",
    "cache": "write CREATE MATERIALIZED VIEW, which stores its rows",
    "table": "write SELECT * FROM t",
}
"""First words of statements, with a hint."""

KINDS = {
    "connection": _OPTIONS,
    "secret": _OPTIONS,
    "server": _OPTIONS,
    "foreign": "write CREATE SOURCE, or CREATE TABLE … WITH (connector = 'lookup')",
    "external": "write CREATE SOURCE … WITH (connector = 'files', path = '…')",
    "subscription": "write CREATE SOURCE with a connector, or watch a table: floodmark watch",
    "publication": "write CREATE SINK … WITH (connector = 'files' or 'delta')",
    "user": _FOLDER,
    "role": _FOLDER,
    "policy": _FOLDER,
    "database": "a warehouse is one database, and its folder: --warehouse names another one",
    "catalog": "a warehouse is one database, and its folder: --warehouse names another one",
    "sequence": "take gen_random_uuid(), or a key of the rows themselves",
    "type": "write the type where it stands: STRUCT<a INT, b VARCHAR>",
    "domain": "write the type where it stands, and the condition in a view",
    "trigger": "write CREATE SINK … INTO the table that it would change",
    "procedure": "write CREATE FUNCTION, or the statements in a pipeline file",
    "extension": "leave it out: functions of your own are CREATE FUNCTION … LANGUAGE python",
    "temp": "leave the word out, and DROP the object at the end; or use WITH in the query",
    "temporary": "leave the word out, and DROP the object at the end; or use WITH in the query",
    "unlogged": "leave the word out",
    "unique": "leave UNIQUE out: what is unique is the table's PRIMARY KEY",
    "recursive": "recursion is not available; join as often as there are levels",
}
"""Words behind CREATE, DROP and ALTER, with a hint."""


def refuse_elsewhere(*words: str, span: Span) -> None:
    """Raise E0394 for a statement of another system, by its first word or two."""
    hint = KINDS.get(words[1]) if len(words) > 1 else STATEMENTS.get(words[0])
    if hint is not None:
        said = " ".join(words).upper()
        raise NotSupported("E0394", f"{said} is not available", span=span, hint=hint)
