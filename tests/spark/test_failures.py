"""What a query that ends at a row says of it; no Spark is asked."""

from __future__ import annotations

import pytest

from floodmark.catalog.functions.model import RowErrorCode
from floodmark.spark.failures import RAISED, translate


@pytest.mark.parametrize("code", RowErrorCode)
def test_every_reason_has_its_words(code: RowErrorCode) -> None:
    error = translate(RuntimeError(f"[USER_RAISED_EXCEPTION] {RAISED}{int(code)}}} SQLSTATE"))
    assert error.code == code.text and error.message and error.hint
