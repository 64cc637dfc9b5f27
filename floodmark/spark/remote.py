"""The address of a Spark Connect server elsewhere: shown, it lacks its token."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import import_module

from floodmark.errors import UserError

_ADDRESS = re.compile(r"\w+://[^\s'\"<>]+")
_PATH = re.compile(r"^((?:\w+://)?+[^/;?#]*[/?#])[^;]+")
"""An address of Connect has no path: what stands there may be a token in the wrong place."""
_USER = re.compile(r"//[^/@;]*@")
_PARAMETER = re.compile(r"(;\s*(?!(?:use_ssl|user_id|user_agent|session_id)=)[\w.-]+=)[^;\s'\"<>]+")
"""What pyspark does not know it sends along as a header: such as a token of another kind."""
_TOKEN = re.compile(r"(?i)(\btoken=)[^;\s'\"<>]+")


def mask_secrets(text: str) -> str:
    """Return a text with stars for the secrets of addresses in it.

    >>> mask_secrets("cannot reach sc://lake:443/;token=abc;use_ssl=true: closed")
    'cannot reach sc://lake:443/;token=***;use_ssl=true: closed'
    """
    return _TOKEN.sub(r"\1***", _ADDRESS.sub(lambda match: _mask_address(match[0]), text))


def _mask_address(address: str) -> str:
    if address.lower().startswith("sc://"):
        address = _PATH.sub(r"\1***", address)
    return _TOKEN.sub(r"\1***", _PARAMETER.sub(r"\1***", _USER.sub("//***@", address)))


@dataclass(frozen=True, slots=True)
class Remote:
    """A Connect server that Floodmark uses and does not start: `sc://host:port/;token=…`.

    `url` is whole; `str` and `repr` are what people and logs may see.
    """

    url: str = field(repr=False)

    def __str__(self) -> str:
        return _mask_address(_PATH.sub(r"\1***", self.url))

    def __repr__(self) -> str:
        return f"Remote({str(self)!r})"

    def check(self) -> None:
        """Raise UserError E0450 unless pyspark reads the address."""
        core = import_module("pyspark.sql.connect.client.core")
        from pyspark.errors import PySparkException

        try:
            core.DefaultChannelBuilder(self.url)
        except (PySparkException, ValueError) as error:
            # Without the cause: it quotes the address whole. Its text may quote the path.
            path = _PATH.match(self.url)
            said = str(error)
            if path is not None:
                said = said.replace(path[0][len(path[1]) - 1 :], f"{path[1][-1]}***")
            raise UserError(
                "E0450",
                f"{self} is no address of a Spark Connect server",
                detail=mask_secrets(said),
                hint="set FLOODMARK_SPARK_REMOTE to sc://host:port/;token=…;use_ssl=true",
            ) from None
