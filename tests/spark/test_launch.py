"""What a server is started with: settings that cost time are left out, named classes exist."""

from __future__ import annotations

import zipfile
from pathlib import Path

from floodmark.spark.hadoop_defaults import defaults_jar
from floodmark.spark.jars import spark_jars
from floodmark.spark.launch import LOG_SELECTOR


def test_few_settings_of_hadoop_are_sent_with_each_query(tmp_path: Path) -> None:
    (jar,) = defaults_jar(tmp_path, spark_jars())
    with zipfile.ZipFile(jar) as archive:
        text = archive.read("core-default.xml").decode()
    assert 10 < text.count("<property>") <= 24
    assert "<name>fs.AbstractFileSystem.file.impl</name>" in text


def test_the_selector_of_logs_is_a_class_of_the_jars() -> None:
    (core,) = spark_jars().glob("log4j-core-*.jar")
    with zipfile.ZipFile(core) as archive:
        assert f"{LOG_SELECTOR.replace('.', '/')}.class" in archive.namelist()
