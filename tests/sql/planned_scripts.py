"""Plans whole scripts as the engine does before it logs anything: no Spark, no warehouse."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from floodmark.connectors.copy.file import copy_file
from floodmark.limits import LIMITS
from floodmark.query.dml.plan_dml import plan_dml
from floodmark.query.dml.writing import target_of
from floodmark.query.query import Reader
from floodmark.session.ddl.deployment import DeploymentPlan, plan_statement
from floodmark.session.show import explain_name, explain_result, explain_statement, show
from floodmark.sql import statements as s
from floodmark.sql.parse import parse_script
from floodmark.storage.logs.catalog import CatalogVersion
from floodmark.tables.cut import Cut
from floodmark.warehouse.deployed import EMPTY, Deployed, load, statements_of
from floodmark.warehouse.settings import Settings

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_NO_TABLES: Any = SimpleNamespace(limits=LIMITS, store=None)


@dataclass
class Planner:
    """What a script has defined so far; `run` raises what the engine would."""

    deployed: Deployed = EMPTY

    def script(self, text: str) -> None:
        """Plan every statement of a text, and read back what would have been logged."""
        for statement in parse_script(text, "script.sql"):
            self.run(statement)
        for found in self.deployed.pipeline.objects.values():
            str(explain_name(found.key, self.deployed))

    def run(self, statement: s.Statement) -> None:
        """Plan one statement as it is planned before it is logged."""
        match statement:
            case s.AlterResume() | s.AlterRebase() | s.Begin() | s.Commit() | s.Rollback():
                pass
            case s.Definition() | s.Drop() | s.Alter():
                plan = plan_statement(statement, self.deployed)
                if plan is not None:
                    self._log(plan)
            case s.Select():
                self._reader.plan(statement.query, statement.span)
                self.run(s.Explain(statement=statement, span=statement.span))
            case s.CopyTo():
                copy_file(statement.path, statement.options, statement.span, limits=LIMITS)
                self._reader.plan(statement.query, statement.span)
            case s.Insert() | s.Update() | s.Delete():
                plan_dml(statement, target_of(statement, self.deployed), self._reader)
            case s.Explain():
                explain_result(statement, self.deployed, lambda _: (), explain_statement)
            case s.Show() | s.Describe():
                show(statement, self.deployed, Settings(limits=LIMITS).values)
            case s.SetOption():
                Settings(limits=LIMITS).set(statement)

    def _log(self, plan: DeploymentPlan) -> None:
        """Take a plan over; what it logs can be read: else each later command would end there."""
        number = self.deployed.version + 1
        logged = tuple(statements_of(plan.catalog, plan.pins(self.deployed)))
        self.deployed = load(CatalogVersion(number, number, logged, _NOW))
        assert self.deployed.pipeline.objects.keys() == plan.pipeline.objects.keys()

    @property
    def _reader(self) -> Reader:
        return Reader(_NO_TABLES, self.deployed.pipeline, Cut(), _NOW, {})
