"""One plan in one epoch: the changes of its root, from the changes and versions of its inputs."""

from __future__ import annotations

from functools import partial

from floodmark.dataflow.context import EpochContext
from floodmark.dataflow.inputs import EpochInputs
from floodmark.dataflow.key_sources import KeySources
from floodmark.dataflow.keyed_reads import KeyedReads
from floodmark.dataflow.operator_input import OperatorInput
from floodmark.dataflow.other_updates import OtherUpdates
from floodmark.dataflow.output import OperatorOutput
from floodmark.dataflow.plan_splitter import PlanSplitter
from floodmark.dataflow.stages import ObjectStages
from floodmark.plan import nodes as n
from floodmark.spark.rows import Rows
from floodmark.spark.user_functions import register
from floodmark.stream.operators.lower import StreamPlan
from floodmark.stream.properties.bounds import Bounds


class Evaluation:
    """Computes changes; an operator that several read is computed once.

    `keyed_reads` are shared with the other plans of the epoch.
    """

    def __init__(
        self,
        plan: StreamPlan,
        inputs: EpochInputs,
        stages: ObjectStages,
        keyed_reads: KeyedReads | None = None,
    ) -> None:
        self.plan = plan
        self._outputs: dict[n.Node, OperatorOutput] = {}
        reads = KeyedReads(alone=plan) if keyed_reads is None else keyed_reads
        ctx, parts = EpochContext(inputs, stages, reads), PlanSplitter(stages)
        keys = KeySources(
            lambda op: self._outputs[op.node].is_changed, partial(reads.equals, inputs)
        )
        others = OtherUpdates(plan, inputs)
        for node in plan.nodes:
            op = plan[node]
            read = [
                OperatorInput(op, i, self._outputs[below], ctx)
                for i, below in enumerate(node.inputs)
            ]
            self._outputs[node] = OperatorOutput(op, read, ctx, parts, keys, others, self._outputs)
        register(inputs.spark, (e for node in plan.nodes for e in node.expressions))

    def bounds(self, node: n.Node) -> Bounds:
        """Return where the values of a node's changes lie."""
        return self._outputs[node].bounds

    def root(self) -> Rows | None:
        """Return the changes of the plan's root; what is due is made in every case."""
        for output in self._outputs.values():
            if any(table.holds_due_changes for table in output.operator.state):
                output.advance()
        return self._outputs[self.plan.root].rows
