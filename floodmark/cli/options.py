"""The options that all commands share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

WarehouseFlag = partial(
    typer.Option, "--warehouse", "-w", help="The warehouse folder, or $FLOODMARK_WAREHOUSE."
)
Pipelines = partial(
    typer.Option, "--pipelines", "-p", help="The folder of SQL files, or $FLOODMARK_PIPELINES."
)
Wait = partial(typer.Option, "--wait", help="Seconds to wait for the lease of the warehouse.")
AsJson = partial(typer.Option, "--json", help="Print JSON, for programs.")
Durable = partial(
    typer.Option,
    "--durable/--no-durable",
    help="Whether a new warehouse survives a power cut, or $FLOODMARK_DURABLE.",
    show_default=False,
)

WarehouseOption = Annotated[Path, WarehouseFlag()]
PipelinesOption = Annotated[Path, Pipelines()]
WaitOption = Annotated[float, Wait()]
JsonOption = Annotated[bool, AsJson()]
DurableOption = Annotated[bool | None, Durable()]

WAREHOUSE = Path("warehouse")
PIPELINES = Path("pipelines")
WAIT = 60.0


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """The values of the shared options; `wait` in seconds. Nothing is said of `durable` by None."""

    warehouse: Path = WAREHOUSE
    pipelines: Path = PIPELINES
    wait: float = WAIT
    json: bool = False
    durable: bool | None = None

    @property
    def pipelines_if_any(self) -> Path | None:
        """Return the pipeline folder, None where there is none and none was asked for."""
        return self.pipelines if self.pipelines.is_dir() or self.pipelines != PIPELINES else None
