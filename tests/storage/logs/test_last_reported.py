"""A run and checks on demand write the book of reports at the same time, and nothing is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from floodmark.storage.logs.last_reported import LastReport, LastReports

ROUNDS = 20


def test_audits_during_a_run_stay(tmp_path: Path) -> None:
    book = LastReports(tmp_path)
    book.write({"t": LastReport(epoch=1, fingerprint="f")})

    def run(epoch: int) -> None:
        last = book.all_reports()["t"]
        audits.submit(book.record_audit, "t", f"check {epoch}", epoch, passed=True).result()
        book.after_run({"t": LastReport(epoch=epoch, fingerprint="f").continue_from(last)})

    with ThreadPoolExecutor(1) as audits, ThreadPoolExecutor(1) as runs:
        list(runs.map(run, range(2, 2 + ROUNDS)))
    found = book.all_reports()["t"]
    assert found.epoch == 1 + ROUNDS
    assert {name: tuple(said) for name, said in found.audits.items()} == {
        f"check {epoch}": (1, epoch) for epoch in range(2, 2 + ROUNDS)
    }


def test_two_threads_lose_nothing_of_each_other(tmp_path: Path) -> None:
    book = LastReports(tmp_path)
    book.write({"t": LastReport(fingerprint="f")})

    def audit(number: int) -> None:
        book.record_audit("t", str(number), number, passed=number % 2 == 0)

    def run(epoch: int) -> None:
        book.after_run({"t": replace(book.all_reports()["t"], epoch=epoch)})

    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            pool.submit(audit, number)
            pool.submit(run, number)
    assert len(book.all_reports()["t"].audits) == ROUNDS


def test_audits_of_another_definition_go(tmp_path: Path) -> None:
    book = LastReports(tmp_path)
    book.write({"t": LastReport(epoch=1, fingerprint="f")})
    book.record_audit("t", "check", 1, passed=True)
    book.after_run({"t": LastReport(epoch=2, fingerprint="g")})
    assert book.all_reports()["t"].audits == {}
