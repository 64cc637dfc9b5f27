"""The token of a remote server is in nothing that people or logs see."""

from __future__ import annotations

import dataclasses
import traceback
from pathlib import Path

import pytest
from typer.testing import CliRunner

from floodmark.cli.app import app
from floodmark.errors import FloodmarkError
from floodmark.spark.confs import REMOTE_VARIABLE, default_config
from floodmark.spark.failures import translate
from floodmark.spark.remote import Remote, mask_secrets
from floodmark.spark.session import open_sessions

SECRET = "dapi-0123/45+6="


@pytest.mark.parametrize(
    "address",
    [
        f"sc://lake.example:443/;use_ssl=true;token={SECRET}",
        f"sc://lake.example/;TOKEN={SECRET};user_id=me",
        f"sc://lake.example/;x-api-key={SECRET}",
        f"sc://me:{SECRET.replace('/', '')}@lake.example",
        f"lake.example;token={SECRET}",
        "sc://lake.example:1/tok-0123",
        "sc://lake.example:1/a/tok-0123;user_id=me",
        "SC://lake.example/tok-0123",
        "lake.example/tok-0123;user_id=me",
        "sc://lake.example:1?tok-0123",
        "sc://lake.example:1#tok-0123",
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str) -> None:
    remote = Remote(address)
    config = default_config({REMOTE_VARIABLE: address})
    extra = dataclasses.replace(config, extra=(("spark.hadoop.fs.s3a.secret.key", SECRET),))
    for shown in (str(remote), repr(remote), f"{config}", repr(config.remote), repr(extra)):
        assert "0123" not in shown
    assert "lake.example" in repr(config)
    assert config.remote is not None and config.remote.url == address


@pytest.mark.parametrize(
    "address", [f"https://lake.example/;token={SECRET}", "sc://lake.example:1/tok-0123"]
)
def test_what_is_no_address_is_told_without_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REMOTE_VARIABLE, address)
    with pytest.raises(FloodmarkError) as refused:
        open_sessions(default_config())
    assert refused.value.code == "E0450"
    assert "0123" not in "".join(traceback.format_exception(refused.value))


def test_a_text_of_spark_is_told_without_tokens() -> None:
    error = translate(RuntimeError(f"failed: sc://lake.example/;token={SECRET};use_ssl=true"))
    assert "0123" not in error.render() and "use_ssl=true" in error.render()
    assert "0123" not in translate(RuntimeError("failed: sc://lake.example/tok-0123")).render()
    assert mask_secrets("s3a://lake/a/b and sc://lake") == "s3a://lake/a/b and sc://lake"
    assert mask_secrets("WHERE token = 'a' AND t.key=5") == "WHERE token = 'a' AND t.key=5"


@pytest.mark.parametrize("words", [("server", "status"), ("server", "stop"), ("doctor",)], ids=str)
@pytest.mark.parametrize("json", [True, False])
def test_commands_show_a_remote_server_without_its_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], json: bool
) -> None:
    monkeypatch.setenv(REMOTE_VARIABLE, f"sc://lake.example:443/;token={SECRET}")
    monkeypatch.setenv("FLOODMARK_CACHE", str(tmp_path / "cache"))
    places = ["--warehouse", str(tmp_path / "w"), *(["--json"] if json else [])]
    result = CliRunner().invoke(app, [*words, *places])
    assert "lake.example:443" in result.output
    assert "0123" not in result.output
