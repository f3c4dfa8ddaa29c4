"""Checkers by name. To add one, write a function and register it before the run:

    def no_rnr(context: CheckContext) -> CheckResult:
        found = context.events(RnrNakSent)
        verdict = Verdict.FAIL if found else Verdict.PASS
        return CheckResult("no_rnr", verdict, f"{len(found)} RNR NAKs")

    register_checker("no_rnr", no_rnr, proves="no receiver ran out of buffers")

A checker is pure: it reads the context, changes nothing, and may be called twice. One that raises gives `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from testbed.checkers.context import CheckContext
from testbed.history.verdict import CheckResult, Verdict
from testbed.scenario.known import protocol_of

__all__ = [
    "Check",
    "Checked",
    "Checker",
    "Skipped",
    "checkers",
    "judges_of",
    "register_checker",
    "run_checks",
    "skip_approximate",
]

Check: TypeAlias = Callable[[CheckContext], CheckResult]


def _never(context: CheckContext) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Checker:
    name: str
    check: Check
    proves: str
    """what a pass means, for `tb list` and the documentation"""
    skip: Callable[[CheckContext], str | None] = _never
    """why the check does not apply to this run; None: it does; empty: it does not, which nobody need be told"""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that does not apply to a run. It has no part in the verdict."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    results: tuple[CheckResult, ...]
    skipped: tuple[Skipped, ...]


_CHECKERS: dict[str, Checker] = {}


def register_checker(
    name: str, check: Check, *, proves: str, skip: Callable[[CheckContext], str | None] = _never
) -> None:
    """Raises ValueError when the name is taken."""
    if name in _CHECKERS:
        raise ValueError(f"a checker named {name!r} is registered already")
    _CHECKERS[name] = Checker(name, check, proves, skip)


def checkers() -> tuple[Checker, ...]:
    """All of them, in the order of their registration."""
    return tuple(_CHECKERS.values())


def judges_of(context: CheckContext) -> tuple[Checker, ...]:
    """All that are registered, and those that the protocol of a run brings along."""
    return (*checkers(), *protocol_of(context.plan.scenario.job.collective).checkers)


def skip_approximate(context: CheckContext) -> str | None:
    """Of checkers that know one right sum: where the protocol's are approximate, its own checkers judge them."""
    protocol = protocol_of(context.plan.scenario.job.collective)
    if not protocol.traits.approximate:
        return None
    names = ", ".join(checker.name for checker in protocol.checkers)
    return f"the sums of {protocol.name} are approximate: {names} judges them"


def run_checks(context: CheckContext, among: Iterable[Checker] | None = None) -> Checked:
    """Every checker that applies, in order; all of `judges_of` unless `among` is given."""
    results, skipped = [], []
    for checker in judges_of(context) if among is None else among:
        try:
            reason = checker.skip(context)
            if reason is None:
                results.append(checker.check(context))
            elif reason:
                skipped.append(Skipped(checker.name, reason))
        except Exception as error:
            detail = f"the checker itself failed: {type(error).__name__}: {error}"
            results.append(CheckResult(checker.name, Verdict.UNKNOWN, detail))
    return Checked(tuple(results), tuple(skipped))
