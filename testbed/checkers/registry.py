"""Checkers by name. To add one, write a function and register it before the run:

    def no_rnr(context: CheckContext) -> CheckResult:
        found = context.events(RnrNakSent)
        verdict = Verdict.FAIL if found else Verdict.PASS
        return CheckResult("no_rnr", verdict, f"{len(found)} RNR NAKs")

    register_checker("no_rnr", no_rnr, proves="no receiver ran out of buffers")

A checker is pure: it reads the context, changes nothing, and may be called twice. One that raises gives `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from testbed.checkers.context import CheckContext
from testbed.checkers.parts import merged, parts_of
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan
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
    of_run: bool = False
    """it asks what holds for a run as a whole; False: it judges the jobs of one collective, each for itself"""


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
    name: str,
    check: Check,
    *,
    proves: str,
    skip: Callable[[CheckContext], str | None] = _never,
    of_run: bool = False,
) -> None:
    """Fields of `Checker`. Raises ValueError when the name is taken."""
    if name in _CHECKERS:
        raise ValueError(f"a checker named {name!r} is registered already")
    _CHECKERS[name] = Checker(name, check, proves, skip, of_run)


def checkers() -> tuple[Checker, ...]:
    """All of them, in the order of their registration."""
    return tuple(_CHECKERS.values())


def judges_of(context: CheckContext) -> tuple[Checker, ...]:
    """All that are registered, and those that the protocols of a run bring along."""
    own = (checker for plan in context.plan.parts for checker in _own_checkers(plan))
    return (*checkers(), *dict.fromkeys(own))


def _own_checkers(plan: Plan) -> tuple[Checker, ...]:
    return protocol_of(plan.scenario.job.collective).checkers


def skip_approximate(context: CheckContext) -> str | None:
    """Of checkers that know one right sum: where the protocol's are approximate, its own checkers judge them."""
    protocol = protocol_of(context.plan.scenario.job.collective)
    if not protocol.traits.approximate:
        return None
    names = ", ".join(checker.name for checker in protocol.checkers)
    return f"the sums of {protocol.name} are approximate: {names} judges them"


def run_checks(context: CheckContext, among: Iterable[Checker] | None = None) -> Checked:
    """Every checker that applies, in order; all of `judges_of` unless `among` is given. Of several collectives each is
    judged for itself, by its own checkers and by those of nobody, and a check has one result over all."""
    parts = parts_of(context)
    found = [
        _of_run(context, checker) if checker.of_run or len(parts) == 1 else _of_parts(parts, checker)
        for checker in (judges_of(context) if among is None else among)
    ]
    return Checked(
        tuple(item for item in found if isinstance(item, CheckResult)),
        tuple(item for item in found if isinstance(item, Skipped) and item.reason),
    )


def _of_run(context: CheckContext, checker: Checker) -> CheckResult | Skipped:
    try:
        reason = checker.skip(context)
        return checker.check(context) if reason is None else Skipped(checker.name, reason)
    except Exception as error:
        detail = f"the checker itself failed: {type(error).__name__}: {error}"
        return CheckResult(checker.name, Verdict.UNKNOWN, detail)


def _of_parts(parts: Mapping[str, CheckContext], checker: Checker) -> CheckResult | Skipped:
    foreign = {own for context in parts.values() for own in _own_checkers(context.plan)}
    found = {
        name: _of_run(context, checker)
        for name, context in parts.items()
        if checker not in foreign or checker in _own_checkers(context.plan)
    }
    results = {name: item for name, item in found.items() if isinstance(item, CheckResult)}
    reasons = [item.reason for item in found.values() if isinstance(item, Skipped) and item.reason]
    return merged(results) if results else Skipped(checker.name, "; ".join(dict.fromkeys(reasons)))
