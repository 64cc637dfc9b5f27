"""Tests in several processes at once, `pytest -n 3`: those of a file stay together."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

_TOGETHER = {
    "tests/property/test_determinism_properties.py": "properties",
    "tests/property/test_reference_properties.py": "properties",
    "tests/property/test_the_number_of_programs.py": "properties",
    "tests/crash/test_kill.py": "week",
    "tests/epochs/test_demo_views.py": "week",
    "tests/docs/test_error_pages.py": "sources",
    "tests/house/test_limits.py": "sources",
    "tests/house/test_named_in_docs.py": "sources",
    "tests/house/test_names.py": "sources",
    "tests/house/test_paths.py": "sources",
    "tests/sql/test_error_kinds.py": "sources",
    "tests/stream/test_passes.py": "sources",
    "tests/tables/test_commit_once.py": "sources",
}
"""Files that one process runs: one adds up what others checked, others share a fixture or trees."""


class FilesTogether(LoadFileScheduling):
    """Gives each process whole files, in the order in which they were collected."""

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return _TOGETHER.get(file, file)
