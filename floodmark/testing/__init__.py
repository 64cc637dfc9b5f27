"""What a user needs to test SQL: a clock that stands, rows in per epoch, changelogs out.

```python
with sql_test("CREATE SOURCE s (k INT, v INT) WITH (connector = 'files', path = 'x') "
              "FORMAT PLAIN ENCODE JSON; "
              "CREATE MATERIALIZED VIEW v AS SELECT k, sum(v) FROM s GROUP BY k") as test:
    test.epoch("s: +I 1 10", "v: +I 1 10")
    test.epoch("s: +I 1 5", "v: -U 1 10  +U 1 15")
```
"""

from __future__ import annotations

from floodmark.testing.program import ProgramError
from floodmark.testing.sql_test import FixedClock, SqlTest, run_program, sql_test

__all__ = ["FixedClock", "ProgramError", "SqlTest", "run_program", "sql_test"]
