"""Checkers by name. To add one, write a function and register it before the run:

    def no_rnr(context: CheckContext) -> CheckResult:
        found = context.events(RnrNakSent)
        verdict = Verdict.FAIL if found else Verdict.PASS
        return CheckResult("no_rnr", verdict, f"{len(found)} RNR NAKs")

    register_checker("no_rnr", no_rnr, proves="no receiver ran out of buffers")

A checker is pure: it reads the context, changes nothing, and may be called twice. One that raises, or returns what is
no CheckResult, gives `unknown`. The result goes by the name of the checker, whatever name it has itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from testbed.checkers.checker import Check, Checker, never
from testbed.checkers.context import CheckContext
from testbed.checkers.of_protocol import checkers_of
from testbed.checkers.parts import merged, parts_of
from testbed.history.verdict import CheckResult, Verdict
from testbed.kernel.overdue import LIMIT_S, unshare
from testbed.plan import Plan
from testbed.scenario.protocols.own_code import is_own_code, place_of
from testbed.scenario.protocols.own_types import CHECKER
from testbed.terminal.activity import doing
from workloads.blame import how_ended, in_one_line
from workloads.errors import TestbedError
from workloads.ownvalues import misfit, shown

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
    """Fields of `Checker`. Raises ValueError when the name is taken, TypeError for fields of another type."""
    known, checker = _registered(), Checker(name, check, proves, skip, of_run)
    if not CHECKER.holds(checker):
        raise TypeError(f"register_checker got what makes no checker; allowed: {CHECKER.words}")
    if name in known:
        whose = "the testbed" if name in _stock_names() else "register_checker"
        raise ValueError(f"a checker named {name!r} is registered already, by {whose}")
    known[name] = checker


def _stock_names() -> frozenset[str]:
    from testbed.checkers.stock import STOCK

    return frozenset(checker.name for checker in STOCK)


def checkers() -> tuple[Checker, ...]:
    """All of them, in the order of their registration."""
    return tuple(_registered().values())


def judges_of(context: CheckContext) -> tuple[Checker, ...]:
    """All that are registered, and those that the protocols of a run bring along."""
    own = (checker for plan in context.plan.parts for checker in _own_checkers(plan))
    return (*checkers(), *dict.fromkeys(own))


def _own_checkers(plan: Plan) -> tuple[Checker, ...]:
    return checkers_of(plan.scenario.job.protocol)


def run_checks(context: CheckContext, among: Iterable[Checker] | None = None) -> Checked:
    """Every checker that applies, in order; all of `judges_of` unless `among` is given. Of several protocols each is
    judged for itself, by its own checkers and not by those of others, and a check has one result over all. A protocol
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
        with doing(f"checking {checker.name}"):
            if checker.own or is_own_code(context.plan.scenario.job.protocol):
                return _apart(context, checker)
            return _judged(context, checker)
    except TestbedError as error:
        return _failed(checker, str(error))
    except Exception as error:
        return _failed(checker, in_one_line(error))


def _failed(checker: Checker, why: str) -> CheckResult:
    return CheckResult(checker.name, Verdict.UNKNOWN, f"the checker itself failed: {why}")


def _judged(context: CheckContext, checker: Checker) -> CheckResult | Skipped:
    """What a checker returns is looked at before anything reads it, whether it is a stock checker or the user's."""
    reason: Any = checker.skip(context)
    if not (reason is None or isinstance(reason, str)):
        return _failed(checker, f"{place_of(checker.skip)} returned {shown(reason)}; allowed: text or None")
    if reason is not None:
        return Skipped(checker.name, str(reason))
    found: Any = checker.check(context)
    evidence: Any = getattr(found, "evidence", ())
    if isinstance(found, CheckResult) and isinstance(evidence, list):
        found = replace(found, evidence=tuple(evidence))
    if (wrong := misfit(found, CheckResult)) is not None:
        field, value, words = wrong
        what = f"a CheckResult whose {field} is {shown(value)}" if field else shown(value)
        return _failed(checker, f"{place_of(checker.check)} returned {what}; allowed: {words}")
    result: CheckResult = replace(found, name=checker.name)
    return result


def _apart(context: CheckContext, checker: Checker) -> CheckResult | Skipped:
    """Code of the user's own, whatever it does to its process, leaves the verdicts of the others alone."""
    from testbed.kernel.apart import Ended, run_apart  # what judges only ours needs nothing of Linux

    def judged(tell: object) -> CheckResult | Skipped:
        unshare()  # the limit is ours
        try:
            return _judged(context, checker)
        except TestbedError:
            raise
        except Exception as error:  # else all of our own calls would be in the text
            return _failed(checker, in_one_line(error))

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
