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
from functools import cache

from switch_nodes.blame import how_ended
from testbed.checkers.checker import Check, Checker, never
from testbed.checkers.context import CheckContext
from testbed.checkers.parts import merged, parts_of
from testbed.history.verdict import CheckResult, Verdict
from testbed.kernel.overdue import LIMIT_S, unshare
from testbed.plan import Plan
from testbed.scenario.known import protocol_of
from testbed.scenario.own_code import is_own_code
from testbed.terminal.activity import doing

__all__ = [
    "Checked",
    "Skipped",
    "checkers",
    "judges_of",
    "register_checker",
    "run_checks",
]

OF_SUMS = "bit_exact"
"""judges the sums of every protocol that is not approximate; of others, their own checkers do"""
SUMS_JUDGED = "sums_judged"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A check that does not apply to a run. It has no part in the verdict."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    results: tuple[CheckResult, ...]
    skipped: tuple[Skipped, ...]


@cache
def _registered() -> dict[str, Checker]:
    """By name. Stock checkers come first. They are imported here, since code that only names a type needs none."""
    from testbed.checkers.stock import STOCK

    return {checker.name: checker for checker in STOCK}


def register_checker(
    name: str,
    check: Check,
    *,
    proves: str,
    skip: Callable[[CheckContext], str | None] = never,
    of_run: bool = False,
) -> None:
    """Fields of `Checker`. Raises ValueError when the name is taken."""
    known = _registered()
    if name in known:
        raise ValueError(f"a checker named {name!r} is registered already")
    known[name] = Checker(name, check, proves, skip, of_run)


def checkers() -> tuple[Checker, ...]:
    """All of them, in the order of their registration."""
    return tuple(_registered().values())


def judges_of(context: CheckContext) -> tuple[Checker, ...]:
    """All that are registered, and those that the protocols of a run bring along."""
    own = (checker for plan in context.plan.parts for checker in _own_checkers(plan))
    return (*checkers(), *dict.fromkeys(own))


def _own_checkers(plan: Plan) -> tuple[Checker, ...]:
    return protocol_of(plan.scenario.job.collective).checkers


def run_checks(context: CheckContext, among: Iterable[Checker] | None = None) -> Checked:
    """Every checker that applies, in order; all of `judges_of` unless `among` is given. Of several collectives each is
    judged for itself, by its own checkers and not by those of others, and a check has one result over all. A collective
    whose sums no checker judged, since all that could were skipped, is `unknown`."""
    parts, chosen = parts_of(context), tuple(judges_of(context) if among is None else among)
    found: list[CheckResult | Skipped] = []
    unjudged = dict(parts) if any(checker.name == OF_SUMS for checker in chosen) else {}
    for checker in chosen:
        each = (
            dict.fromkeys(parts, _of_run(context, checker))
            if checker.of_run or len(parts) == 1
            else _of_parts(parts, checker)
        )
        for name in [name for name, item in each.items() if isinstance(item, CheckResult)]:
            if name in unjudged and (checker.name == OF_SUMS or checker in _own_checkers(parts[name].plan)):
                del unjudged[name]
        found.append(_over_parts(checker, each, whole=checker.of_run or len(parts) == 1))
    results = [item for item in found if isinstance(item, CheckResult)]
    if unjudged:
        why = f"every checker that could judge the sums of {', '.join(unjudged)} was skipped"
        results.append(CheckResult(SUMS_JUDGED, Verdict.UNKNOWN, why))
    return Checked(tuple(results), tuple(item for item in found if isinstance(item, Skipped) and item.reason))


def _of_run(context: CheckContext, checker: Checker) -> CheckResult | Skipped:
    try:
        with doing(checker.name):
            if checker.own or is_own_code(context.plan.scenario.job.collective):
                return _apart(context, checker)
            return _judged(context, checker)
    except Exception as error:
        detail = f"the checker itself failed: {type(error).__name__}: {error}"
        return CheckResult(checker.name, Verdict.UNKNOWN, detail)


def _judged(context: CheckContext, checker: Checker) -> CheckResult | Skipped:
    reason = checker.skip(context)
    return checker.check(context) if reason is None else Skipped(checker.name, reason)


def _apart(context: CheckContext, checker: Checker) -> CheckResult | Skipped:
    """Code of the user's own, whatever it does to its process, leaves the verdicts of the others alone."""
    from testbed.kernel.apart import Ended, run_apart  # what judges only ours needs nothing of Linux

    def judged(tell: object) -> CheckResult | Skipped:
        unshare()  # the limit is ours
        return _judged(context, checker)

    try:
        return run_apart(judged, limit_s=LIMIT_S)
    except Ended as end:
        why = f"took longer than {LIMIT_S:.0f} s" if end.overdue else f"ended its process ({how_ended(end.status)})"
        return CheckResult(checker.name, Verdict.UNKNOWN, f"the checker itself failed: it {why}")


def _of_parts(parts: Mapping[str, CheckContext], checker: Checker) -> dict[str, CheckResult | Skipped]:
    foreign = {own for context in parts.values() for own in _own_checkers(context.plan)}
    return {
        name: _of_run(context, checker)
        for name, context in parts.items()
        if checker not in foreign or checker in _own_checkers(context.plan)
    }


def _over_parts(checker: Checker, found: Mapping[str, CheckResult | Skipped], *, whole: bool) -> CheckResult | Skipped:
    """`whole`: the check was made once, over all of them."""
    if whole:
        return next(iter(found.values()))
    results = {name: item for name, item in found.items() if isinstance(item, CheckResult)}
    reasons = [item.reason for item in found.values() if isinstance(item, Skipped) and item.reason]
    return merged(results) if results else Skipped(checker.name, "; ".join(dict.fromkeys(reasons)))
