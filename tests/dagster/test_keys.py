"""Each object has an asset key of its own, whatever it is called."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import dagster as dg

from floodmark.catalog.catalog import Catalog
from floodmark.catalog.objects import Origin
from floodmark.sql.parse import parse_script
from floodmark.stream.objects.pipeline import analyse_catalog
from floodmark_dagster.assets.factory import pipeline_assets
from floodmark_dagster.assets.translator import _plain, asset_key

_CODE = re.compile("_0x([0-9a-f]+)_")


def test_a_name_can_be_read_from_its_key() -> None:
    for length in range(1, 7):
        for chars in itertools.product("_0x2-", repeat=length):
            name = "".join(chars)
            assert _CODE.sub(lambda found: chr(int(found[1], 16)), _plain(name)) == name


def test_names_that_look_alike_load_together(tmp_path: Path) -> None:
    long = ("é" * 100, "数" * 23, f"{'n' * 199}x")
    names = ("a-b", "a_2d_b", "a_0x2d_b", "x__sink", "x__sin_0x6b_", *long, "A-b")
    script = "CREATE TABLE t (v INT);\n" + "".join(
        f'CREATE MATERIALIZED VIEW "{name}" AS SELECT v FROM t;\n' for name in names
    )
    script += f"""CREATE SINK x AS SELECT v FROM t WITH (connector = 'files', path = '{tmp_path}/x',
        type = 'append-only', force_append_only = 'true') FORMAT PLAIN ENCODE JSON;"""
    catalog = Catalog()
    for statement in parse_script(script):
        catalog = catalog.create(statement, Origin.STATEMENT)  # type: ignore[arg-type]
    pipeline = analyse_catalog(catalog)
    keys = {asset_key(found) for found in pipeline.objects.values()}
    assert len(keys) == len(pipeline.objects) == len(names) + 2
    assert dg.AssetKey(["a_2d_b"]) in keys and dg.AssetKey(["x__sink"]) in keys
    found = pipeline_assets(pipeline, tmp_path)
    dg.Definitions.validate_loadable(dg.Definitions([found], resources={"warehouse": None}))
