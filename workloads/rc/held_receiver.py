"""`irn-held`, the receiving half of a queue pair: as IRN, and answers that show a gap carry a map."""

from __future__ import annotations

from workloads.config import QpConfig
from workloads.rc.inbound import Inbound
from workloads.rc.irn_receiver import IrnReceiver
from workloads.rc.memory import MemoryRegions
from workloads.rc.tally import Counters, Outbox
from workloads.wire import Nak, psn_add, psn_diff
from workloads.wire.held_map import HELD_PACKETS, HeldMap

__all__ = ["HeldReceiver", "next_gap"]


class HeldReceiver(IrnReceiver):
    """A Receiver. Each map begins with the first missing packet behind the previous map, so a few answers go through
    all gaps. Then the maps begin again with the first gap."""

    def __init__(self, config: QpConfig, regions: MemoryRegions, counters: Counters, outbox: Outbox) -> None:
        super().__init__(config, regions, counters, outbox)
        self.told_to = self.expected
        """PSN behind the last map"""

    def _answer(self, syndrome: int, packet: Inbound) -> None:
        super()._answer(syndrome, packet)
        found = next_gap(self.arrivals.bitmap, max(0, psn_diff(self.told_to, self.expected)))
        if syndrome != Nak.PSN_SEQUENCE or found is None:
            return
        distance, count, bits = found
        self.told_to = psn_add(self.expected, distance + count)
        told = HeldMap(psn_add(self.expected, distance), count, bits, packet.psn).encode()
        self.answers[-1] = self.answers[-1]._replace(payload=told)


def next_gap(here: int, start: int) -> tuple[int, int, int] | None:
    """(distance, packets, their bits) from the first missing packet at `start` or behind it. If there is none, from the
    first missing packet of all. The range ends at the last packet that is here. `here`: bitmap of distances. None: no
    packet is missing below one that is here."""
    missing = ~here & ((1 << here.bit_length()) - 1)
    later = missing >> start << start or missing
    if not later:
        return None
    first = (later & -later).bit_length() - 1
    count = min(HELD_PACKETS, here.bit_length() - first)
    return first, count, here >> first & ((1 << count) - 1)
