"""The warehouse and its pipeline files for Dagster: where a run connects to the engine."""

# No postponed annotations here: Dagster reads the classes of nested resources from the fields.
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from dagster import ConfigurableResource, ResourceDependency
from pydantic import Field

from floodmark.api import Floodmark, connect
from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.catalog.places import project_of
from floodmark.epochs.summary import format_notes
from floodmark.session.ddl import deployment
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.session.ddl.desired import DesiredState
from floodmark.sql.files import sql_files
from floodmark.stream.objects.analysed import Pipeline
from floodmark.warehouse.deployed import Deployed
from floodmark.warehouse.settings import Settings
from floodmark_dagster.resources.clock import EngineClock
from floodmark_dagster.resources.spark import FloodmarkSpark


class Warehouse(ConfigurableResource):
    """A warehouse folder and the folder of SQL files that says what it computes."""

    root: str = Field(description="The warehouse folder")
    pipelines: str = Field(description="The folder of SQL files")
    checks: str = Field(
        default="checks",
        description="The folder of pandera schemas, if any; a relative one starts at the project",
    )
    wait: float = Field(default=60.0, description="Seconds to wait for the lease")
    spark: ResourceDependency[FloodmarkSpark]
    clock: ResourceDependency[EngineClock]

    @property
    def project(self) -> Path:
        """Return where relative paths start, whichever folder Dagster was started in."""
        return project_of(Path(self.pipelines))

    @property
    def checks_folder(self) -> Path:
        """Return the folder of pandera schemas, which need not be there."""
        return self.project / self.checks

    @contextmanager
    def connect(self) -> Iterator[Floodmark]:
        """Connect to the warehouse as it is deployed; Spark is attached when first needed."""
        try:
            with connect(
                self.root,
                clock=self.clock,
                wait=self.wait,
                sessions=lambda: self.spark.sessions,
                project=self.project,
            ) as floodmark:
                yield floodmark
        finally:
            self.spark.close()

    def deploy(self, floodmark: Floodmark) -> list[str]:
        """Create the new objects of the pipeline files; return notes on what the engine assumes.

        A changed object is E0361.
        """
        folder = Path(self.pipelines)
        plan = floodmark.deploy(folder) if folder.is_dir() else None
        return [] if plan is None else format_notes(plan.new_keys, plan.pipeline)

    def plan(self, floodmark: Floodmark) -> DeploymentPlan | None:
        """Return the plan of the pipeline files; None where there are none."""
        folder = Path(self.pipelines)
        return floodmark.plan(folder) if folder.is_dir() else None

    def additions(self, floodmark: Floodmark) -> DeploymentPlan | None:
        """Return the plan of the pipeline files; None where it does more than create new objects.

        None, too, where there are no files.
        """
        plan = self.plan(floodmark)
        return plan if plan and all(c.action == "create" for c in plan.changes) else None

    @property
    def digest(self) -> str:
        """Return a text that changes whenever a pipeline file is written, comes or goes."""
        known = ((str(path), path.stat()) for path in sql_files(Path(self.pipelines)))
        text = repr([(p, s.st_size, s.st_mtime_ns, s.st_ino) for p, s in known])
        return sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]

    def files(self, floodmark: Floodmark) -> str:
        """Return a text that changes whenever the plan of the pipeline files can change."""
        return f"{self.digest}@{floodmark.deployed.version}"

    def pipeline(self) -> Pipeline:
        """Return the objects of the files, as `definitions` does."""
        return self.definitions()[0]

    def definitions(self) -> tuple[Pipeline, str]:
        """Return the objects of the files and those that statements created, and `SET partitions`.

        The files are analysed anew, so that every object knows its place in them. E0365 where there
        is no folder, and nothing is deployed without one. No Spark.
        """
        folder = Path(self.pipelines)
        with connect(self.root, clock=self.clock, project=self.project) as floodmark:
            objects = floodmark.deployed.catalog.objects.items()
            desired = (
                DesiredState(()) if objects and not folder.is_dir() else floodmark.read(folder)
            )
        created = {key: found for key, found in objects if found.origin is Origin.STATEMENT}
        plan = deployment.plan_files(desired, Deployed(0, Pipeline(Catalog(created))))
        settings = Settings(floodmark.warehouse.limits)
        for statement in desired.settings:
            settings.set(statement)
        return plan.pipeline, settings.grain
