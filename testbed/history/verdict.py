"""Verdicts and how they merge (the order is Jepsen's: fail > unknown > pass)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["EXIT_CODES", "CheckResult", "Verdict", "merge", "merge_results"]


class Verdict(StrEnum):
    PASS = "pass"
    """looked at enough, found nothing wrong"""
    FAIL = "fail"
    """found a violation, and says which"""
    UNKNOWN = "unknown"
    """unknown result: the evidence is missing, or the thing to be tested did not happen"""

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self]


EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNKNOWN: 2}
_WEIGHT = {Verdict.PASS: 0, Verdict.UNKNOWN: 1, Verdict.FAIL: 2}


@dataclass(frozen=True, slots=True)
class CheckResult:
    name: str
    verdict: Verdict
    detail: str
    """one sentence for a person, also when it passed"""
    evidence: tuple[str, ...] = ()
    """what the detail rests on, one finding per line, the first few of them"""


def merge(verdicts: Iterable[Verdict]) -> Verdict:
    """The heaviest of them; PASS, the neutral element, for none."""
    return max(verdicts, key=_WEIGHT.__getitem__, default=Verdict.PASS)


def merge_results(results: Iterable[CheckResult]) -> Verdict:
    """The verdict of a run. A run that nothing checked is UNKNOWN."""
    verdicts = [result.verdict for result in results]
    return merge(verdicts) if verdicts else Verdict.UNKNOWN
