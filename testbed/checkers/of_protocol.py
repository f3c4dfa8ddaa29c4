"""The checkers that a protocol brings along."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from testbed.checkers.checker import Checker
from testbed.checkers.contract import JudgedProtocol, judged_protocol
from testbed.scenario.protocols.own_code import guarded, is_own_code

if TYPE_CHECKING:
    from testbed.checkers.context import CheckContext

__all__ = ["checkers_of", "skip_approximate"]


def checkers_of(name: str) -> tuple[Checker, ...]:
    """Those of a protocol of the user's own are watched (`testbed.scenario.protocols.own_code.guarded`)."""
    return _checkers(judged_protocol(name))


@lru_cache(maxsize=64)
def _checkers(protocol: JudgedProtocol) -> tuple[Checker, ...]:
    name, found = protocol.name, protocol.checkers()
    if not is_own_code(name):
        return found
    return tuple(
        replace(
            each, check=guarded(each.check, name, "protocol"), skip=guarded(each.skip, name, "protocol"), own=True
        )
        for each in found
    )  # fmt: skip


def skip_approximate(context: CheckContext) -> str | None:
    """Of checkers that know one right sum: where the protocol's are approximate, its own checkers judge them."""
    protocol = judged_protocol(context.plan.scenario.job.protocol)
    if protocol.result().is_exact:
        return None
    names = ", ".join(checker.name for checker in checkers_of(protocol.name))
    if not protocol.result().is_sum:
        return f"{protocol.name} has no result that all hosts share: {names} judges what came"
    return f"the sums of {protocol.name} are approximate: {names} judges them"
