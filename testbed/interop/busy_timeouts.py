"""Timeouts for a machine that is busy with other things.

A starved guest does not get its packets out within the usual timeout, sends them again, is slower for it, and so on.
The time that it took to boot shows how starved it is: its endpoints get that much more time. Cases whose queue pairs
have to die keep theirs.
"""

from __future__ import annotations

import math
from dataclasses import replace

from testbed.interop.cases import ALLREDUCE, Case
from testbed.interop.peercases import PeerCase
from workloads.rc import SUCCESS

__all__ = ["doublings", "patient"]

_USUAL_BOOT_S = 15.0
_MOST = 4
_TIMEOUT = 17
"""as `testbed.interop.cases.case_scenario`"""


def doublings(booted_s: float) -> int:
    """How often to double the timeouts: 0 on a machine that is not starved."""
    return max(0, min(_MOST, math.ceil(math.log2(booted_s / _USUAL_BOOT_S)))) if booted_s > 0 else 0


def patient(case: Case | PeerCase, more: int) -> Case | PeerCase:
    """The same case, its RTO and time limit doubled `more` times; itself where its own retry count or end matters."""
    if more == 0:
        return case
    if isinstance(case, PeerCase):
        if case.status != SUCCESS:
            return case
        return replace(case, timeout_code=case.timeout_code + more, limit_s=case.limit_s * 2**more)
    if case.kind != ALLREDUCE or case.must_fail or "retry_count" in case.transport:
        return case
    timeout = case.transport.get("timeout", _TIMEOUT) + more
    limit_s = int(case.limit.removesuffix("s")) * 2**more
    return replace(case, transport={**case.transport, "timeout": timeout}, limit=f"{limit_s}s")
