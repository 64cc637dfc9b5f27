"""`floodmark backup` and `floodmark restore`: copies of the warehouse as of a sealed epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from floodmark.cli.options import WAREHOUSE, CommandSettings, JsonOption, WarehouseOption
from floodmark.cli.progress import progress
from floodmark.cli.rendering import cell, size
from floodmark.cli.session import command_connection, report_errors

if TYPE_CHECKING:
    from floodmark.storage.backup.manifest import Backup, UnreadableBackup

BACKUP_HELP = """Copy the warehouse as of its last sealed epoch, while epochs go on.

\b
  floodmark backup /mnt/backups
  floodmark backup /mnt/backups --list

Each backup is a subfolder of the given one. Files that an earlier backup has are hard-linked,
so a daily backup copies only new files. Remove old ones with rm -r, in any order.
"""
RESTORE_HELP = """Restore a backup into a new or empty folder.

\b
  floodmark restore /mnt/backups --warehouse restored
  floodmark restore /mnt/backups --epoch 1200 --warehouse restored

Takes the newest readable backup, or the one of --epoch. Every file is verified against
its checksum. The restored warehouse continues after the epoch of the backup: the next run takes
in the data of sources since then again.
"""
BackupFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the backups.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup", help=BACKUP_HELP)(backup)
    app.command("restore", help=RESTORE_HELP)(restore)


def backup(
    folder: BackupFolder,
    listed: Annotated[bool, typer.Option("--list", help="List the backups in FOLDER.")] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    as_json: JsonOption = False,
) -> None:
    from floodmark.storage.backup.manifest import backups, find_backups

    settings = CommandSettings(warehouse, json=as_json)
    if listed:
        with report_errors(settings):
            _say_all(*find_backups(folder), as_json)
        return
    with command_connection(settings) as connection, progress("backing up", as_json) as note:
        made = connection.back_up(folder, note)
    new = f"{size(made.copied_bytes)} of {size(made.bytes)} copied"
    _say(made, f"epoch {made.epoch} is in {made.folder}: {made.files:,} files, {new}", as_json)
    _say_histories(backups(folder))


def restore(
    folder: BackupFolder,
    epoch: Annotated[int | None, typer.Option("--epoch", help="The epoch of the backup.")] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    as_json: JsonOption = False,
) -> None:
    from floodmark.storage.backup.manifest import find_backups
    from floodmark.storage.backup.restore import restore as restored

    settings = CommandSettings(warehouse, json=as_json)
    with report_errors(settings), progress("restoring", as_json) as note:
        made = restored(folder, warehouse, epoch, note)
        for left_out in find_backups(folder)[1] if epoch is None else ():
            typer.echo(f"left out: {left_out.error.message}", err=True)
    _say(made, f"{warehouse} is at epoch {made.epoch}, from {made.folder}", as_json)


def _say(made: Backup, text: str, as_json: bool) -> None:
    typer.echo(json.dumps(_as_dict(made)) if as_json else text)


def _say_all(backups: list[Backup], unreadable: list[UnreadableBackup], as_json: bool) -> None:
    if as_json:
        others = [{"folder": str(u.folder), u.why: u.error.message} for u in unreadable]
        typer.echo(json.dumps([*map(_as_dict, backups), *others]))
        return
    for b in backups:
        typer.echo(f"{b.folder.name}  epoch {b.epoch}, {cell(b.made_at)}, {size(b.bytes)}")
    for u in unreadable:
        typer.echo(f"{u.folder.name}  {u.why}: {u.error.message}")
    if not backups and not unreadable:
        typer.echo("no backups")
    _say_histories(backups)


def _say_histories(backups: list[Backup]) -> None:
    from floodmark.storage.backup.manifest import histories

    ends = [backup.folder.name for backup in histories(backups)]
    if len(ends) > 1:
        typer.echo(f"histories end with {', '.join(ends)}: restore one by its folder", err=True)


def _as_dict(made: Backup) -> dict[str, Any]:
    return {
        "folder": str(made.folder),
        "epoch": made.epoch,
        "made_at": made.made_at.isoformat(),
        "files": made.files,
        "bytes": made.bytes,
        "copied_bytes": made.copied_bytes,
    }
