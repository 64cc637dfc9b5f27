"""The contract of a store of objects: every implementation passes it."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from floodmark.errors import DataError
from floodmark.storage.durability import choose, objects_of
from floodmark.storage.objects.contract import (
    Exists,
    Objects,
    Stale,
    Unavailable,
    create_once,
    folders_in,
    replace_once,
)
from floodmark.storage.objects.local import LocalObjects
from floodmark.storage.objects.memory import Fault, MemoryObjects

K = "a/b.json"
UNUSUAL = (
    "'", "a b/c", "é/ü", "~2e/x=1/~-y.parquet", "a\nb", "*", "[!_]?", "a\\b", "%2F", "...",
    ".hidden",
    "日本" * 40, "x" * 255, "/".join(["y" * 200] * 5),
)  # fmt: skip
REFUSED = (
    "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "./a", "a/.", "a\0b", "\0",
    "x" * 256, "é" * 128, "/".join(["z"] * 600), "\udcff", f".a.{'0' * 32}",
)  # fmt: skip


@pytest.fixture(params=["local", "durable", "memory"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "memory":
        return MemoryObjects()
    return LocalObjects(tmp_path / "store", durable=request.param == "durable")


def _read(objects: Objects, key: str) -> bytes | None:
    found = objects.get(key)
    return None if found is None else found[0]


def test_what_is_created_is_read_back(objects: Objects) -> None:
    assert objects.get(K) is None and objects.head(K) is None
    tag = objects.create(K, b"one")
    assert objects.get(K) == (b"one", tag)
    head = objects.head(K)
    assert head is not None and (head.size, head.tag) == (3, tag)


def test_an_object_is_created_once(objects: Objects) -> None:
    objects.create(K, b"one")
    assert objects.create(K, b"two") == Exists(K)
    assert _read(objects, K) == b"one"


def test_an_object_is_replaced_by_its_tag_alone(objects: Objects) -> None:
    assert objects.replace(K, b"none", "tag") == Stale(K)
    first = objects.create(K, b"one")
    assert isinstance(first, str)
    second = objects.replace(K, b"two", first)
    assert isinstance(second, str) and second != first
    assert objects.get(K) == (b"two", second)
    assert objects.replace(K, b"three", first) == Stale(K)
    assert objects.get(K) == (b"two", second)
    objects.delete([K])
    assert objects.replace(K, b"three", second) == Stale(K) and objects.get(K) is None


def test_no_tag_comes_back(objects: Objects) -> None:
    tag = objects.create(K, b"0")
    tags = {tag}
    for i in range(200):
        assert isinstance(tag, str)
        tag = objects.replace(K, b"01"[i % 2 : i % 2 + 1], tag)
        tags.add(tag)
    assert len(tags) == 201


def test_ranges(objects: Objects) -> None:
    tag = objects.create(K, b"0123456789")
    ranges = {(0, 4): b"0123", (3, None): b"3456789", (2, 5): b"234", (8, 20): b"89"}
    ranges |= {(10, None): b"", (12, 15): b"", (3, 3): b"", (0, 0): b""}
    for (start, end), data in ranges.items():
        assert objects.get(K, start, end) == (data, tag)
    assert objects.get("other", 2, 5) is None


@pytest.mark.parametrize("data", [b"", b"\0\xff\n\r\n", b"x" * 3_000_000])
def test_bytes_stay_as_they_are(objects: Objects, data: bytes) -> None:
    objects.create(K, data)
    assert _read(objects, K) == data


def test_keys_are_listed_in_the_order_of_their_bytes(objects: Objects) -> None:
    keys = ["a-b", "a.b", "a/b-c", "a/b/c", "a/b/d", "a/b0", "a0", "aa/x", "b", "~", "é", "日", "𝒳"]
    assert list(objects.list()) == []
    for key in reversed(keys):
        objects.create(key, b"")
    assert sorted(keys, key=str.encode) == keys
    assert list(objects.list()) == keys
    for after in (
        *keys,
        "a",
        "a/",
        "a/b",
        "a/b/",
        "a/b/cc",
        "a/b/\U0010ffff",
        "a1",
        "zz",
        "\U0010ffff",
    ):
        assert list(objects.list(after=after)) == [key for key in keys if key > after], after
    for prefix in ("a", "a/", "a/b", "a/b/", "a/b/d", "a.", "none/", "none", "aa/", "é"):
        expected = [key for key in keys if key.startswith(prefix)]
        assert list(objects.list(prefix)) == expected, prefix
        assert list(objects.list(prefix, "a/b/c")) == [k for k in expected if k > "a/b/c"]


def test_a_folder_stands_for_its_keys(objects: Objects) -> None:
    for key in ("a/b/c", "a/b/d", "a/x", "a/b.json", "b"):
        objects.create(key, b"")
    assert list(objects.list(deep=False)) == ["a/", "b"]
    assert list(objects.list("a/", deep=False)) == ["a/b.json", "a/b/", "a/x"]
    assert list(objects.list("a/b", deep=False)) == ["a/b.json", "a/b/"]
    assert list(objects.list("a/", "a/b.json", deep=False)) == ["a/b/", "a/x"]
    assert list(objects.list("a", deep=False)) == ["a/"]
    assert list(objects.list("none/", deep=False)) == []


@pytest.mark.parametrize("key", UNUSUAL)
def test_unusual_keys(objects: Objects, key: str) -> None:
    tag = objects.create(key, b"one")
    assert list(objects.list()) == [key] and objects.get(key) == (b"one", tag)
    assert isinstance(tag, str) and isinstance(objects.replace(key, b"two", tag), str)
    objects.copy(key, "copy")
    assert _read(objects, "copy") == b"two"
    objects.delete([key, "copy"])
    assert list(objects.list()) == []


@pytest.mark.parametrize("key", REFUSED)
def test_what_is_no_key_is_refused(objects: Objects, key: str, tmp_path: Path) -> None:
    objects.create("there", b"")
    (tmp_path / "file").write_bytes(b"")
    calls: tuple[Callable[[], object], ...] = (
        lambda: objects.get(key),
        lambda: objects.head(key),
        lambda: objects.create(key, b""),
        lambda: objects.replace(key, b"", "tag"),
        lambda: objects.copy("there", key),
        lambda: objects.copy(key, "new"),
        lambda: objects.upload(key, tmp_path / "file"),
        lambda: objects.delete([key]),
        lambda: objects.sub_objects(key),
        lambda: objects.move("there", key),
        lambda: objects.move(key, "new"),
        lambda: objects.remove(key, "aside"),
        lambda: objects.remove(key),
        lambda: objects.last_write(key),
        lambda: objects.spark_url(key),
    )
    for call in calls:
        with pytest.raises(DataError, match="E0401"):
            call()
    assert list(objects.list()) == ["there"]


@pytest.mark.parametrize("prefix", ["/", "../", "a/../", "a//", "\0", "a\0", "a/\0"])
def test_what_begins_no_key_is_refused(objects: Objects, prefix: str) -> None:
    with pytest.raises(DataError, match="E0401"):
        list(objects.list(prefix))


def test_objects_are_deleted_where_they_are(objects: Objects) -> None:
    for key in ("a", "b/c", "b/d"):
        objects.create(key, b"")
    objects.delete(["a", "none", "b/c", "none/none"])
    objects.delete(["a"])
    objects.delete([])
    assert list(objects.list()) == ["b/d"]
    assert isinstance(objects.create("a", b"again"), str)


def test_objects_are_copied_and_uploaded(objects: Objects, tmp_path: Path) -> None:
    first = objects.create(K, b"one")
    copied = objects.copy(K, "deep/er/copy")
    assert objects.get("deep/er/copy") == (b"one", copied)
    assert isinstance(first, str) and isinstance(objects.replace(K, b"two", first), str)
    assert _read(objects, "deep/er/copy") == b"one"
    objects.copy(K, "deep/er/copy")
    objects.copy("deep/er/copy", K)
    assert _read(objects, K) == _read(objects, "deep/er/copy") == b"two"
    with pytest.raises(FileNotFoundError):
        objects.copy("none", "new")
    file = tmp_path / "file"
    file.write_bytes(b"three")
    for key in ("up/loaded", K):
        assert objects.get(key) != (b"three", objects.upload(key, file))
        assert _read(objects, key) == b"three"
    with pytest.raises(FileNotFoundError):
        objects.upload("new", tmp_path / "none")
    assert list(objects.list()) == [K, "deep/er/copy", "up/loaded"] and file.exists()


def test_objects_are_moved(objects: Objects) -> None:
    objects.create(K, b"one")
    objects.create("deep/old", b"two")
    objects.move(K, "deep/er/new")
    objects.move("deep/er/new", "deep/old")
    assert list(objects.list()) == ["deep/old"] and _read(objects, "deep/old") == b"one"
    with pytest.raises(FileNotFoundError):
        objects.move("none", "new")
    assert list(objects.list()) == ["deep/old"]


def test_heads_are_those_of_each_object(objects: Objects) -> None:
    for key in ("a/b", "a/c/d", "e"):
        objects.create(key, key.encode())
    heads = dict(objects.heads())
    assert list(heads) == ["a/b", "a/c/d", "e"] and list(dict(objects.heads("a/"))) == [*heads][:2]
    assert all(head == objects.head(key) for key, head in heads.items())
    assert list(objects.sub_objects("a").heads("c/")) == [("c/d", heads["a/c/d"])]
    assert list(objects.heads("none/")) == []


def test_a_folder_was_written_when_the_last_of_it_was(objects: Objects) -> None:
    assert objects.last_write("a") is None
    objects.create("a/b/c", b"")
    first = objects.last_write("a")
    assert first is not None and objects.last_write("b") is None
    tag = objects.create("a/b/d", b"")
    last = objects.last_write("a")
    assert last is not None and last > first and last == objects.last_write("a/b")
    assert isinstance(tag, str) and (head := objects.head("a/b/d")) and head.modified <= last


def test_folders_without_objects_go(objects: Objects) -> None:
    objects.make()
    for key in ("a/b/c", "a/d", "e/f/g"):
        objects.create(key, b"")
    objects.delete(["a/b/c", "e/f/g"])
    objects.prune("none")
    objects.prune("a")
    objects.prune("e")
    assert list(objects.list()) == ["a/d"]
    assert list(objects.list(deep=False)) == ["a/"]
    objects.sub_objects("a").prune()
    assert list(folders_in(objects)) == ["a"] and list(folders_in(objects, "a")) == []


def test_folders_of_a_depth(objects: Objects) -> None:
    for key in ("a/b/c/x", "a/d/x", "a/x", "e/f/g/x"):
        objects.create(key, b"")
    assert list(folders_in(objects)) == ["a", "e"]
    assert list(folders_in(objects, "a")) == ["a/b", "a/d"]
    assert list(folders_in(objects, depth=2)) == ["a/b", "a/d", "e/f"]
    assert list(folders_in(objects, "a", 2)) == ["a/b/c"] and not list(folders_in(objects, "none"))


def test_folders_are_stores_of_their_own(objects: Objects) -> None:
    inner = objects.sub_objects("a").sub_objects("b/c")
    tag = inner.create("d", b"one")
    assert objects.get("a/b/c/d") == (b"one", tag)
    objects.create("a/b/other", b"")
    assert list(inner.list()) == ["d"] and list(objects.sub_objects("a").list("b/")) == [
        "b/c/d",
        "b/other",
    ]
    assert inner.spark_url("d") == objects.spark_url("a/b/c/d") == f"{inner.place}/d"
    objects.remove("a/b/c", "gone")
    assert list(objects.list()) == ["a/b/other"]
    objects.remove("none", "gone")
    objects.remove("none")
    assert list(objects.list()) == ["a/b/other"]
    inner.create("d", b"one")
    objects.remove("a/b")
    assert list(objects.list()) == []


def test_what_others_wrote_is_waited_for(objects: Objects) -> None:
    objects.create(K, b"")
    objects.flush([K])
    objects.flush([])


def test_one_of_many_threads_creates(objects: Objects) -> None:
    with ThreadPoolExecutor(8) as pool:
        for i in range(20):
            start = threading.Barrier(8)

            def create(n: int, key: str = f"new/{i}/x", start: threading.Barrier = start) -> bool:
                start.wait()
                return isinstance(objects.create(key, str(n).encode()), str)

            won = [n for n, first in enumerate(pool.map(create, range(8))) if first]
            assert _read(objects, f"new/{i}/x") == str(*won).encode()


def test_no_replacement_is_lost_between_threads(objects: Objects) -> None:
    objects.create(K, b"0")

    def count(_: int) -> None:
        for _ in range(20):
            while True:
                found = objects.get(K)
                assert found is not None
                if isinstance(objects.replace(K, str(int(found[0]) + 1).encode(), found[1]), str):
                    break

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(count, range(6)))
    assert _read(objects, K) == b"120"


def test_a_lock_is_held_by_one(objects: Objects) -> None:
    with objects.lock("a/lock") as mine:
        assert mine
        with objects.lock("a/lock", wait=False) as other, objects.lock("b", wait=False) as free:
            assert not other and free
    with objects.lock("a/lock", wait=False) as mine:
        assert mine


def _create(place: Path, start: object, won: object, n: int) -> None:
    start.wait()  # type: ignore[attr-defined]
    for i in range(30):
        if isinstance(LocalObjects(place).create(f"x/{i}", str(n).encode()), str):
            won.put((i, n))  # type: ignore[attr-defined]
    won.put(None)  # type: ignore[attr-defined]


def test_one_of_many_processes_creates(tmp_path: Path) -> None:
    forked = multiprocessing.get_context("fork")
    start, won = forked.Barrier(4), forked.Queue()
    workers = [forked.Process(target=_create, args=(tmp_path, start, won, n)) for n in range(4)]
    for worker in workers:
        worker.start()
    winners: list[tuple[int, int]] = []
    for _ in workers:
        winners += iter(won.get, None)
    for worker in workers:
        worker.join()
    found = [(i, int(_read(LocalObjects(tmp_path), f"x/{i}") or b"")) for i in range(30)]
    assert sorted(winners) == found


def _count(place: Path) -> None:
    objects, done = LocalObjects(place), 0
    while done < 40:
        found = objects.get(K)
        assert found is not None
        done += isinstance(objects.replace(K, str(int(found[0]) + 1).encode(), found[1]), str)


def test_no_replacement_is_lost_between_processes(tmp_path: Path) -> None:
    LocalObjects(tmp_path).create(K, b"0")
    forked = multiprocessing.get_context("fork")
    workers = [forked.Process(target=_count, args=(tmp_path,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert _read(LocalObjects(tmp_path), K) == b"160"


def test_what_is_no_file_is_no_object_of_a_disk(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to(tmp_path / "none")
    for key in ("folder", "pipe", "broken"):
        for call in (objects.get, objects.head, lambda k: objects.replace(k, b"", "tag")):
            with pytest.raises(OSError, match=r"no file|link to nothing"):
                call(key)
        assert objects.create(key, b"") == Exists(key)
    with pytest.raises(OSError, match=r"no file"):
        objects.copy("folder", "new")
    # What has a name is listed: nobody takes it for what is not there.
    assert list(objects.list()) == ["broken", "pipe"]
    assert list(objects.list(deep=False)) == ["broken", "folder/", "pipe"]


def test_what_lies_elsewhere_is_not_of_a_disk_s_store(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path / "store")
    objects.create("a/b", b"")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "x").write_bytes(b"")
    (tmp_path / "store" / "link").symlink_to(tmp_path / "else")
    (tmp_path / "store" / "a" / "round").symlink_to(tmp_path / "store")
    assert list(objects.list()) == ["a/b", "a/round", "link"]
    assert list(objects.list(deep=False)) == ["a/", "link"]
    with pytest.raises(OSError, match="no file"):
        objects.get("link")


def test_what_is_not_whole_is_not_listed(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path)
    (tmp_path / f".x.json.{'0f' * 16}").write_bytes(b"")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff", os.O_CREAT))
    assert list(objects.list()) == []


@pytest.mark.parametrize("fault", ["refused", "lost request", "lost answer"])
def test_a_store_in_memory_fails_as_it_is_told_to(fault: Fault) -> None:
    objects = MemoryObjects()
    tag = objects.create(K, b"one")
    assert isinstance(tag, str)
    writes: tuple[Callable[[], object], ...] = (
        lambda: objects.create("new", b"two"),
        lambda: objects.replace(K, b"two", tag),
        lambda: objects.copy(K, "copy"),
        lambda: objects.delete([K]),
    )
    for write in writes:
        objects.fail_at(1, fault)
        with pytest.raises(Unavailable, match="as it was told to") as raised:
            write()
        assert raised.value.maybe_done is (fault != "refused")
    done = fault == "lost answer"
    assert _read(objects, "new") == (b"two" if done else None)
    assert list(objects.list()) == (["copy", "new"] if done else [K])
    objects.fail_at(2, fault)
    assert objects.head("none") is None
    with pytest.raises(Unavailable):
        objects.get(K)
    assert objects.calls[-2:] == ["head", "get"]


def test_a_lost_answer_is_found_out() -> None:
    objects = MemoryObjects()
    objects.fail_at(1, "lost answer")
    assert create_once(objects, K, b"mine") and _read(objects, K) == b"mine"
    objects.fail_at(1, "lost answer")
    assert not create_once(objects, K, b"other"), "another writer's is there"
    assert _read(objects, K) == b"mine"
    found = objects.get(K)
    assert found is not None
    objects.fail_at(1, "lost answer")
    assert replace_once(objects, K, b"next", found[1]) and _read(objects, K) == b"next"
    assert not replace_once(objects, K, b"late", found[1])


@pytest.mark.parametrize("fault", ["refused", "lost request"])
def test_what_was_not_done_is_not_taken_for_done(fault: Fault) -> None:
    objects = MemoryObjects()
    for write in (
        lambda: create_once(objects, K, b"mine"),
        lambda: replace_once(objects, K, b"mine", "tag"),
    ):
        objects.fail_at(1, fault)
        with pytest.raises(Unavailable):
            write()
        assert objects.get(K) is None


def test_what_is_written_before_the_record_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOODMARK_DURABLE", "false")
    objects = objects_of(tmp_path)
    inner = objects.sub_objects("a")
    inner.create("early", b"")
    assert isinstance(objects, LocalObjects) and isinstance(inner, LocalObjects)
    assert not objects.durable and not inner.durable
    choose(objects, True)
    assert objects.durable and inner.durable and objects.sub_objects("b").durable
