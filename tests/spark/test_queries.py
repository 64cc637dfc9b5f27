"""Which files a plan names, by the plan alone."""

from __future__ import annotations

from pyspark.sql.connect.proto import Relation, WriteOperation

from floodmark.spark.queries import files_of


def scan(*paths: str) -> Relation:
    found = Relation()
    found.read.data_source.format = "parquet"
    found.read.data_source.options["basePath"] = "/elsewhere"
    found.read.data_source.paths.extend(paths)
    return found


def test_files_are_named_as_often_as_the_plan_has_them() -> None:
    plan = WriteOperation(path="/out", options={"maxRecordsPerFile": "7"})
    both = plan.input.project.input.join
    both.left.CopyFrom(scan("/a", "/b"))
    both.right.filter.input.CopyFrom(scan("/a"))
    both.join_condition.expression_string.expression = "x = y"
    plan.input.project.expressions.add().literal.string = "/c"
    assert sorted(files_of(plan)) == ["/a", "/a", "/b"]
    assert list(files_of(Relation())) == []
