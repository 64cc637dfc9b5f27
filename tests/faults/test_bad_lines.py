"""One line of a text file that cannot be read is one dead letter: the lines around it stay."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from floodmark.connectors.base import SourceSpec
from floodmark.connectors.registry import make_connector
from floodmark.limits import LIMITS
from floodmark.scalar.types import INT, VARCHAR, Field
from floodmark.spark.session import Sessions
from tests.warehouses import NOW, Site, visible

BOM = b"\xef\xbb\xbf"
DEFINED = """
CREATE SOURCE {name} (id INT, b VARCHAR) WITH (connector = 'files', path = '{{landing}}/{name}')
FORMAT PLAIN ENCODE {encode};
"""
LONG = b"x" * 500_000
JSON = {
    "a_nul": b'{"id": 3, "b": "a\0b"}',
    "nothing_but_nuls": b"\0\0\0",
    "an_escaped_nul": b'{"id": 3, "b": "a\\u0000b"}',
    "a_byte": b'{"id": 3, "b": "\xff"}',
    "a_surrogate": b'{"id": 3, "b": "\xed\xa0\x80"}',
    "an_escaped_surrogate": b'{"id": 3, "b": "\\ud800"}',
    "a_mark": b'{"id": 3}' + BOM,
    "broken": b'{"id": 3',
    "long": b'{"id": 3, "b": "' + LONG,
}
CSV = {
    "a_nul": b"3,a\0b",
    "nothing_but_nuls": b"\0\0\0",
    "a_byte": b"3,\xff",
    "a_surrogate": b"3,\xed\xa0\x80",
    "broken": b'3,"',
    "long": b'3,"' + LONG,
}


def files_of(encode: str, bad: bytes) -> dict[str, tuple[bytes, int]]:
    """Return files with a bad line, by name, and which line that is."""
    csv = encode == "csv"
    one, two = (b"1,x", b"2,x") if csv else (b'{"id": 1, "b": "x"}', b'{"id": 2, "b": "x"}')
    head = [b"id,b"] if csv else []
    inside = [*head, one, bad, two]
    line = len(head) + 2
    return {
        "inside": (b"\n".join(inside) + b"\n", line),
        "first": (b"\n".join([*head, bad, one, two]) + b"\n", line - 1),
        "last": (b"\n".join([*head, one, two, bad]), line + 1),
        "carriage": (b"\r".join(inside) + b"\r", line),
        "both": (b"\r\n".join(inside) + b"\r\n", line),
        "marked": (BOM + b"\n".join(inside) + b"\n", line),
    }


@pytest.mark.spark
def test_only_the_bad_line_is_lost(tmp_path: Path, sessions: Sessions) -> None:
    site, wanted, defined = Site(tmp_path, sessions), {}, []
    for encode, cases in (("json", JSON), ("csv", CSV)):
        for case, bad in cases.items():
            name = f"{encode}_{case}"
            defined.append(DEFINED.format(name=name, encode=encode.upper()))
            (site.landing / name).mkdir(parents=True)
            for form, (data, line) in files_of(encode, bad).items():
                (site.landing / name / f"{form}.{encode}").write_bytes(data)
                wanted[f"{name}/{form}.{encode}:{line}"] = name
            packed = files_of(encode, bad)["inside"]
            (site.landing / name / f"packed.{encode}.gz").write_bytes(gzip.compress(packed[0]))
            wanted[f"{name}/packed.{encode}.gz:{packed[1]}"] = name
    site.define(*defined)
    with site.connect() as fm:
        fm.advance(now=NOW)
        assert fm.warehouse.log.suspensions() == {}
        for name in sorted(set(wanted.values())):
            places = sorted(place for place, of in wanted.items() if of == name)
            assert visible(site.root / "warehouse", name) == [
                (i, "x") for i in (1, 2) for _ in places
            ], name
            letters = fm.execute(
                f"SELECT reason, place, message FROM {name}__dead_letter ORDER BY place"
            ).rows
            assert [place for _, place, _ in letters] == places, name
            assert {reason for reason, _, _ in letters} == {"E0651"}
            assert all(message.startswith("the line ") for _, _, message in letters), letters


@pytest.mark.parametrize("encode", ["json", "csv"])
def test_a_file_without_a_line_of_text_is_one_letter(tmp_path: Path, encode: str) -> None:
    text = '{"id": 1}\n{"id": 2}\n' if encode == "json" else "id,b\n1,x\n"
    (tmp_path / f"0.{encode}").write_bytes(text.encode("utf-16"))
    (tmp_path / f"1.{encode}").write_bytes(b"\0" * 100_000 + b"\n" + text.encode())
    schema = (Field("id", INT), Field("b", VARCHAR))
    options = {"connector": "files", "path": str(tmp_path)}
    connector = make_connector(
        SourceSpec("s", schema, "PLAIN", encode.upper(), options), limits=LIMITS
    )
    other, later = connector.discover_splits({}, 1_000_000)
    assert "NUL" in other.payload["bad"]
    # A CSV file needs its header; lines of JSON stand alone, behind what was looked at, too.
    assert ("bad" in later.payload) == (encode == "csv")
