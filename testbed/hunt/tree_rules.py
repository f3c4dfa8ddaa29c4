"""A rule of trees of a plain parameter server, judged at every switch of one. Breaking it costs time and no sum, since
workers ask again.

- `copied_once`: a result for all leaves once by each port of the tree that has workers behind it. A result for one
  worker leaves once by that worker's port. Neither leaves by another port.
"""

from __future__ import annotations

from collections import Counter

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import JobConfig
from testbed.hunt.seen_datagrams import seen_datagram
from testbed.hunt.watch import Tell
from workloads.machine import Event
from workloads.wire.aggregation import Datagram, DatagramKind

__all__ = ["COPIED_ONCE", "TreeWatch"]

COPIED_ONCE = "copied_once"


class TreeWatch:
    """A Watch over one life of a switch. Frames are known by job, block and the worker towards which they go."""

    hears_sent = True

    def __init__(self, config: SwitchConfig, tell: Tell) -> None:
        self._name, self._tell = config.name, tell
        self._jobs = {job.job: job for job in config.jobs}
        self._owed: Counter[tuple[int, int, bytes]] = Counter()

    def came(self, frame: bytes, now: int) -> None:
        found = self._result(frame)
        if found is not None:
            for mac in _towards(self._jobs[found.header.job], found, bytes(frame[:6])):
                self._owed[found.header.job, found.header.sequence, mac] += 1

    def told(self, event: Event) -> None:
        pass

    def handled(self) -> None:
        pass

    def left(self, frame: bytes, now: int) -> None:
        found = self._result(frame)
        if found is not None:
            self._owed[found.header.job, found.header.sequence, bytes(frame[:6])] -= 1

    def drained(self) -> None:
        for (job, sequence, mac), missing in self._owed.items():
            if missing:
                copies = f"{missing} copies too few" if missing > 0 else f"{-missing} copies too many"
                what = f"{self._name} sent {copies} of packet {sequence} of job {job} towards {mac.hex(':')}"
                self._tell(COPIED_ONCE, what)
        self._owed.clear()

    def woke(self, now: int) -> None:
        pass

    def _result(self, frame: bytes) -> Datagram | None:
        found = seen_datagram(frame)
        ours = found is not None and found.header.kind == DatagramKind.RESULT and found.header.job in self._jobs
        return found if ours else None


def _towards(job: JobConfig, found: Datagram, mac: bytes) -> list[bytes]:
    """MAC addresses to which a result that comes here leaves."""
    links = job.trees[(found.header.sequence - 1) % len(job.trees)]
    if links is None or found.dst_ip != job.service_ip:
        return [mac]
    return [job.members[(child.ranks & -child.ranks).bit_length() - 1].mac for child in links.children]
