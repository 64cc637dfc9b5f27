"""A run and checks on demand write the book of reports at the same time, and nothing is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from floodmark.storage.report_book import ReportBook, Reported

ROUNDS = 20


def test_audits_during_a_run_stay(tmp_path: Path) -> None:
    book = ReportBook(tmp_path)
    book.write({"t": Reported(epoch=1, fingerprint="f")})

    def run(epoch: int) -> None:
        last = book.read()["t"]
        audits.submit(book.audited, "t", f"check {epoch}", epoch, passed=True).result()
        book.after_run({"t": Reported(epoch=epoch, fingerprint="f").after(last)})

    with ThreadPoolExecutor(1) as audits, ThreadPoolExecutor(1) as runs:
        list(runs.map(run, range(2, 2 + ROUNDS)))
    found = book.read()["t"]
    assert found.epoch == 1 + ROUNDS
    assert {name: tuple(said) for name, said in found.audits.items()} == {
        f"check {epoch}": (1, epoch) for epoch in range(2, 2 + ROUNDS)
    }


def test_two_threads_lose_nothing_of_each_other(tmp_path: Path) -> None:
    book = ReportBook(tmp_path)
    book.write({"t": Reported(fingerprint="f")})

    def audit(number: int) -> None:
        book.audited("t", str(number), number, passed=number % 2 == 0)

    def run(epoch: int) -> None:
        book.after_run({"t": replace(book.read()["t"], epoch=epoch)})

    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            pool.submit(audit, number)
            pool.submit(run, number)
    assert len(book.read()["t"].audits) == ROUNDS


def test_audits_of_another_definition_go(tmp_path: Path) -> None:
    book = ReportBook(tmp_path)
    book.write({"t": Reported(epoch=1, fingerprint="f")})
    book.audited("t", "check", 1, passed=True)
    book.after_run({"t": Reported(epoch=2, fingerprint="g")})
    assert book.read()["t"].audits == {}
