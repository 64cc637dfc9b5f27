"""Detection of initial fills: neither the view nor its inputs have had rows before the epoch.

Such an epoch computes the view like the epoch that creates it: there are no previous rows to look
up or to retract.
"""

from __future__ import annotations

from collections.abc import Iterable

from floodmark.catalog.objects import ObjectKind
from floodmark.plan import nodes as n
from floodmark.storage.table import Store
from floodmark.stream.objects.analysed import AnalysedObject, Pipeline
from floodmark.tables.current import current_at_cut
from floodmark.tables.cut import Cut


def is_initial_fill(obj: AnalysedObject, pipeline: Pipeline, before: Cut, store: Store) -> bool:
    """Tell whether a view can be computed as if the epoch after `before` created it.

    Needs no Spark. If an input table has ever had rows, the answer is no.
    """
    if obj.kind is not ObjectKind.MATERIALIZED_VIEW or obj.plan is None:
        return False
    if any(map(_has_rows_of_nothing, obj.plan.nodes)):
        return False
    record = before.records.get(obj.key)
    own = {} if record is None else record.versions
    return not any(store.open(table, version).files for table, version in own.items()) and all(
        _is_empty(pipeline, key, before, store) for key in _input_objects(obj.plan.nodes)
    )


def _has_rows_of_nothing(node: n.Node) -> bool:
    """Tell whether a node has rows where its inputs have none."""
    return node.may_give([False for _ in node.inputs])


def _input_objects(nodes: Iterable[n.Node]) -> set[str]:
    return {node.object for node in nodes if isinstance(node, n.Scan) and not node.external}


def _is_empty(pipeline: Pipeline, key: str, before: Cut, store: Store) -> bool:
    rows = current_at_cut(store, pipeline[key], before)
    return rows is None or not (rows.base.files or rows.layer_files)
