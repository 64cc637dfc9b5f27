"""Numbers that tune the engine are fields of Limits; what is none is listed, with the reason.

So is who goes by the default limits, and which constants a test replaces.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from floodmark.limits import LIMITS, each_limit
from tests.source_trees import HOUSE, module_paths, nodes_of, tree_of

_CONSTANT = re.compile(r"_?[A-Z][A-Z_0-9]+")
_ENTRY = "an entry: `connect(limits=…)` begins here"
_LANGUAGE = "what a definition may say is the same for all who read it from the log"
_SERVER = "a server of Spark is that of several warehouses"
_TEXT = "the Spark text of an expression is the same in all sessions"
_ALONE = "a function that works on a warehouse which nobody has opened"
_SHARED = "the processes of a warehouse have one lease and one log"
GO_BY_THE_DEFAULT = {
    "api.py": _ENTRY,
    "testing/output.py": "reads what a test of a user's SQL wrote, with the default limits",
    "catalog/option_table.py": "the documented defaults",
    "connectors/registry.py": "a check makes a connector that reads nothing",
    "sql/constant_rows.py": _LANGUAGE,
    "sql/parser/cursor.py": _LANGUAGE,
    "sql/parser/expressions.py": _LANGUAGE,
    "sql/validate.py": _LANGUAGE,
    "plan/declare/functions.py": _LANGUAGE,
    "plan/expr/size.py": _LANGUAGE,
    "plan/nodes/size.py": _LANGUAGE,
    "plan/nodes/sources.py": "the rows that the parser reads as data",
    "stream/objects/supported.py": _LANGUAGE,
    **dict.fromkeys(
        (
            f"spark/in_process/{name}.py"
            for name in ("command", "functions/lists", "parquet", "query", "shapes", "texts")
        ),
        "a session serves several warehouses",
    ),
    "warehouse/settings.py": "a warehouse has no others of the shared ones",
    "spark/bindings.py": _TEXT,
    "spark/expressions.py": _TEXT,
    "spark/deadline.py": _SERVER,
    "spark/jars.py": _SERVER,
    "spark/launch.py": _SERVER,
    "spark/server.py": _SERVER,
    "spark/session.py": _SERVER,
    "spark/threads.py": _SERVER,
    "spark/watchdog.py": _SERVER,
    "storage/backup/backup.py": _ALONE,
    "storage/delta/store.py": _ALONE,
    "storage/logs/epoch_listing.py": _SHARED,
    "storage/logs/epochs.py": _SHARED,
    "storage/logs/record_files.py": _SHARED,
    "storage/lease/local.py": _SHARED,
    "storage/backup/restore.py": _ALONE,
    "storage/checks/verification.py": _ALONE,
}

PATCHED = {
    ("test_new_operator.py", "ROOT"): "a copy of the engine that lacks a piece",
    ("test_split_enumerator.py", "BUCKET"): "how many epochs a folder has, which is on the disk",
    ("test_large_queries.py", "LIMITS"): _LANGUAGE,
    ("test_long_values.py", "LIMITS"): _LANGUAGE,
    ("test_sessions.py", "LIMITS"): _SERVER,
    ("test_stuck_server.py", "LIMITS"): _SERVER,
    ("test_upgrades.py", "FORMAT"): "a format that does not exist yet",
    ("test_upgrades.py", "STEPS"): "the steps to that format",
    ("test_determinism_properties.py", "MOOD"): "what a function of a user reads",
}
"""Names of constants that tests replace, and why they do not pass limits."""
OUTER = {"cli", "report", "testing", "tools", "reference"}
"""Rooms that are not the engine: their numbers are what a person is shown, or the oracle's."""
FIXED = {
    "a unit, a code or an ordinal": (
        "changelog.py APPEND_ONLY RETRACT", "errors.py CORRUPT NULL_VALUE NULL_TIME "
        "KEY_TWICE TRUNCATE NO_CHANGE NO_ROW FUTURE_TIME",
        "connectors/copy/values.py _DAY_MICROS", "connectors/formats/logical_types.py DAY_MICROS",
        "dataflow/partitions/affected_frames.py _START _ROW _END",
        "dataflow/intake/source.py GOOD DEAD LATE NOTHING WITHDRAWN",
        "dataflow/keyed_reads.py _STAYS _GOES _COMES",
        "dataflow/partitions/frames.py _DAY",
        "plan/bind/frames.py _DAY", "plan/rules/interval_join.py DAY",
        "plan/rules/inverses.py _DAY", "spark/confs.py MEBIBYTE", "spark/failures.py NEGATIVE",
        "stream/properties/reach.py _DAY _LONGEST_MONTH", "stream/properties/bounds.py _NOW",
        "sql/parser/expressions.py _UNARY", "sql/printer/dialect.py INDEX_OFFSET",
        "dataflow/merge/merge.py OUTDATED ENDED SINKS DML_STAGE",
        "dataflow/merge/merge_output.py SILENT",
        "dataflow/intake/watermark_filter.py WRITERS", "tables/clock.py _TIME_ERROR",
        "warehouse/deployed.py EMPTY",
    ),
    "a bound of a type or of a language": (
        "catalog/option_values.py LARGEST LONGEST",
        "connectors/copy/values.py FIRST_DAY LAST_DAY",
        "connectors/formats/logical_types.py _FIRST_DAY _LAST_DAY",
        "dataflow/operators/temporal_filter.py _EVER",
        "dataflow/operators/top_n.py _MOST", "dataflow/intake/transform.py _EVER",
        "plan/bind/frames.py _MOST_ROWS", "plan/bind/precisions.py _MOST", "digits.py _ENOUGH",
        "plan/bind/wide_numbers.py _MOST", "sql/parser/types.py _MAX_DIMENSIONS",
        "plan/build/constant_rows.py _DIGITS", "tables/cutoff.py LAST",
        "dataflow/partitions/affected_frames.py _WIDER",
        "spark/in_process/functions/times.py _FIRST _LAST",
        "spark/in_process/quotients.py _WORD", "spark/in_process/sums.py _BITS",
        "spark/in_process/types.py MOST_DIGITS", "spark/in_process/aggregates.py _EXACT",
        "storage/files/row_codes.py _MOST",
    ),
    "what is on the disk, or in a record": (
        "connectors/sources/delta/commits.py PARTITION",
        "connectors/files/connector.py _ROW_IN_PARTITION",
        "connectors/files/discovery.py PARTITION _DIGESTED",
        "connectors/sources/generated.py PARTITION",
        "connectors/files/inspection.py BYTES_PER_ROW", "connectors/fields.py _MOST NAMES_SHOWN",
        "dataflow/intake/source.py BLOCK_BITS", "tables/row_ids.py PARTITION",
        "storage/backup/manifest.py FORMAT", "storage/delta/columns.py _WITHOUT_FEATURES",
        "storage/delta/elsewhere.py _OLD_WRITER", "storage/logs/epoch_listing.py BUCKET",
        "storage/objects/local.py _LONGEST_NAME",
        "storage/objects/contract.py _LONGEST_KEY _LONGEST_PART",
        "storage/files/statistics.py STRING_LIMIT", "storage/warehouse.py _LONGEST _HEAD",
        "storage/checks/log_check.py _LAST",
    ),
    "part of what a plan is: with another one, stored state is not that of its plan": (
        "plan/build/set_operations.py FLAT_FROM", "stream/operators/base.py _MOST_UPSERT_KEYS",
        "stream/properties/functional_dependencies.py _MOST",
        "stream/properties/key_sets.py MOST _TRIED", "dataflow/plan_splitter.py _OWN",
    ),
    "part of what a generated row is": (
        "connectors/sources/datagen.py _MOST",
        "connectors/sources/nexmark.py FIRST_ID GROUP _CHANNELS",
        "connectors/sources/nexmark.py _ACTIVE_PEOPLE _IN_FLIGHT _LEAD",
    ),
    "what another program takes, or how its files are recognised": (
        "connectors/lookup/connector.py _MOST_VALUES _SPELLINGS",
        "connectors/files/inspection.py _SNIFF _LOOKED_AT", "spark/record.py _SAME_START_SECONDS",
        "connectors/sinks/identity.py _PROBE_BYTES",
    ),
    "part of a safety rule": (
        "epochs/opening.py _STANDS_STILL", "storage/checks/older_log.py _BACK",
        "tables/clock.py _PAUSE _KEPT_PAUSE",
    ),
    "the width of a text": (
        "epochs/version_rollback.py _NAMED", "errors.py _SHOWN _BEFORE",
        "spark/excerpt.py _SHOWN", "storage/checks/older_log.py _NAMED",
        "warehouse/project_folder.py _NAMED", "stream/explain/explain_transform.py _WIDTH",
        "stream/explain/explained.py _GAP _SHOWN", "stream/operators/texts.py WIDEST_HEAD",
    ),
}  # fmt: skip
"""Numbers of the engine that are no limits, by the reason; `scalar` has none that are."""


def test_only_these_go_by_the_default_limits() -> None:
    found = set()
    for path in module_paths():
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and node.module == "floodmark.limits":
                if any(alias.name == "LIMITS" for alias in node.names):
                    found.add(path.relative_to(HOUSE).as_posix())
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "Limits" or path.name == "limits.py", path
    assert found == {*GO_BY_THE_DEFAULT}


def test_the_shared_ones_are_read_of_the_default_limits_alone() -> None:
    """A warehouse that had others would print them, and nobody would go by them."""
    shared = {limit.name for limit in each_limit(LIMITS) if limit.shared}
    read: dict[str, set[str]] = {"LIMITS": set(), "limits": set()}
    for path in module_paths():
        for node in nodes_of(path):
            # The documented defaults are of limits that each warehouse has for itself.
            if isinstance(node, ast.Attribute) and path.name != "option_table.py":
                of = ast.unparse(node.value).rpartition(".")[2]
                read.get(of, set()).add(node.attr)
    assert read["LIMITS"] == shared
    assert not read["limits"] & shared and "source_rows" in read["limits"]


def test_the_engine_passes_limits_to_whoever_has_default_ones() -> None:
    """A command that leaves them out would go by others than a connection."""
    trees = [nodes_of(path) for path in module_paths()]
    functions = [f for nodes in trees for f in nodes if isinstance(f, ast.FunctionDef)]
    default = {f.name for f in functions if "limits: Limits=LIMITS" in ast.unparse(f.args)}
    calls = [call for nodes in trees for call in nodes if isinstance(call, ast.Call)]
    passed = {name: [c for c in calls if ast.unparse(c.func) == name] for name in default}
    assert passed.pop("connect") and passed["back_up"]
    for call in (call for of_name in passed.values() for call in of_name):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        assert any(ast.unparse(value).endswith("limits") for value in given), ast.unparse(call)


def test_tests_pass_limits_instead_of_patching_constants() -> None:
    found = set()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "patch" in text else ():
            if isinstance(node, ast.Call):
                found |= {(path.name, name) for name in _patched(node) if _CONSTANT.fullmatch(name)}
    assert found == {*PATCHED}


def _patched(call: ast.Call) -> Iterator[str]:
    """Yield the names that a call of `setattr`, `patch.object` and the like replaces."""
    match call.func:
        case ast.Attribute(attr="setattr" | "object" | "patch" | "setitem"):
            texts = [a.value for a in call.args if isinstance(a, ast.Constant)]
            yield from (str(text).rpartition(".")[2] for text in texts)
        case ast.Attribute(attr="multiple"):
            yield from (keyword.arg or "" for keyword in call.keywords)


def test_the_engine_has_no_other_numbers_than_limits_and_fixed_ones() -> None:
    fixed = {
        (file, name)
        for lines in FIXED.values()
        for file, *names in map(str.split, lines)
        for name in names
    }
    found = set()
    for path in module_paths():
        file = path.relative_to(HOUSE)
        if file.parts[0] not in OUTER | {"scalar", "limits.py"}:
            tree = tree_of(path)
            found |= {(file.as_posix(), name) for name in _numbers(tree.body)}
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
            found |= {(file.as_posix(), name) for c in classes for name in _numbers(c.body)}
    assert found == fixed


def _numbers(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names of upper-case constants that are numbers, or made of them."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        for target in targets:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = [*zip(target.elts, value.elts, strict=True)]
            for name, one in pairs:
                if isinstance(name, ast.Name) and _CONSTANT.fullmatch(name.id) and _is_number(one):
                    yield name.id


def _is_number(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=known):
            return type(known) in (int, float)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Call(args=args, keywords=keywords):
            return any(map(_is_number, [*args, *(keyword.value for keyword in keywords)]))
    return False
