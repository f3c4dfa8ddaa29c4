"""What the eBPF program can do to a packet."""

from __future__ import annotations

from testbed.faults.model import Corrupt, Delay, Duplicate, Forge, PacketFault, Reorder

__all__ = ["MAX_RULES", "why_not"]

MAX_RULES = 16
"""faults on one link direction (`RULES` in fault.c)"""


def why_not(fault: PacketFault) -> str | None:
    """Why an eBPF classifier cannot serve this fault; None when it can."""
    if isinstance(fault, Reorder | Delay) or (isinstance(fault, Duplicate) and fault.delay_ns):
        return "eBPF cannot hold a packet back"
    if isinstance(fault, Forge):
        return "eBPF makes no frames"
    if isinstance(fault, Corrupt) and fault.repair_icrc:
        return "eBPF does not recompute an iCRC"
    if fault.match.message is not None or fault.match.packet is not None:
        return "eBPF does not know where messages begin"
    return None
