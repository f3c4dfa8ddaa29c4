"""What the eBPF program can do to a packet."""

from __future__ import annotations

from testbed.faults.base import PacketFault
from testbed.faults.kinds import record_of

__all__ = ["MAX_RULES", "why_not"]

MAX_RULES = 16
"""faults on one link direction (`RULES` in fault.c)"""


def why_not(fault: PacketFault) -> str | None:
    """Why an eBPF classifier cannot serve this fault; None when it can."""
    reason = record_of(fault).why_not_in_kernel(fault)
    if reason is not None:
        return reason
    if fault.match.message is not None or fault.match.packet is not None:
        return "eBPF does not know where messages begin"
    if fault.match.kind is not None or fault.match.sequence is not None:
        return "eBPF does not read the headers of datagrams"
    return None
