"""The code that the figures and a PASS rest on: what says which sums are right, and what reports the sums of the hosts.
Also what ran instead of the C core."""

from __future__ import annotations

from collections.abc import Mapping

from testbed.checkers.contract import judged_protocol
from testbed.plan import Plan
from testbed.scenario.protocols.own_code import is_from_own_file, is_own_code
from workloads.hosts import maker_of
from workloads.native.account import NATIVE

__all__ = ["exact_words", "reference_of", "slower_code"]

_TESTBED = "testbed"
_SLOWER = "about 20 times slower in virtual time, with the same sums"


def _is_ours(order: object) -> bool:
    """`order`: as `load_protocol` wraps it."""
    return getattr(getattr(order, "__wrapped__", order), "__module__", "").partition(".")[0] == _TESTBED


def reference_of(plan: Plan) -> dict[str, str]:
    """`sums` and `digests`: `testbed`, or the protocols of the user's own whose code it is."""
    sums, digests = list[str](), list[str]()
    for part in plan.parts:
        name = part.scenario.job.protocol
        if not is_own_code(name):
            continue
        protocol = judged_protocol(name)
        if not protocol.result().is_exact or not _is_ours(protocol.order):
            sums.append(name)
        if any(is_from_own_file(maker_of(host)) for host in part.hosts):
            digests.append(name)
    return {"sums": ", ".join(sums) or _TESTBED, "digests": ", ".join(digests) or _TESTBED}


def exact_words(reference: Mapping[str, str] | None) -> str:
    """What a pass of `bit_exact` means, and whose word it is. None: of a result from before this was kept."""
    found = reference or {"sums": _TESTBED, "digests": _TESTBED}
    words = "every result is exact, bit for bit, and every check passed"
    if found["sums"] != _TESTBED:
        words = f"every result is, bit for bit, what {found['sums']} says that it must be, and every check passed"
    if found["digests"] != _TESTBED:
        words += f"; code of {found['digests']} runs on the hosts"
    return words


def slower_code(environment: Mapping[str, str]) -> str:
    """Which code ran in place of the C core, why, and what that costs; empty: the C core ran, or it is not known."""
    code = environment.get("code")
    return "" if code in (None, NATIVE) else f"{code}; {_SLOWER}"
