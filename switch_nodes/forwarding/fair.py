"""Flows that share a link fairly: a queue for each flow, and deficit round robin by bytes among those that wait
(M. Shreedhar and G. Varghese, SIGCOMM 1995). With many short frames this comes near to processor sharing.

Rule 1: flows take turns in the order in which their queues became busy.
Rule 2: a turn adds one longest frame to the deficit. The flow sends while the deficit covers its next frame.
Rule 3: a flow whose queue empties loses its deficit.
"""

from __future__ import annotations

from collections import deque

from workloads.machine import Buffer
from workloads.wire.places import ETHERTYPE, FLOW, IP_AT, IS_IPV4, MACS, PROTOCOL_AT

__all__ = ["FairQueue", "flow_of"]

_OPTIONLESS, _UDP = 0x45, 17


def flow_of(frame: Buffer) -> bytes:
    """Addresses and ports of a UDP packet over IPv4; of any other frame its two MACs."""
    is_ip = len(frame) >= FLOW.stop and bytes(frame[ETHERTYPE]) == IS_IPV4
    is_udp = is_ip and frame[IP_AT] == _OPTIONLESS and frame[PROTOCOL_AT] == _UDP
    return bytes(frame[FLOW] if is_udp else frame[MACS])


class FairQueue:
    """What waits for a port, by flow. `longest`: bytes of the longest frame."""

    def __init__(self, longest: int) -> None:
        self._longest, self._count = longest, 0
        self._flows: dict[bytes, deque[bytes]] = {}
        """those that wait, the one whose turn it is first"""
        self._deficits: dict[bytes, int] = {}
        self._turns = deque[bytes]()
        self._is_given = False
        """whether the first flow has the quantum of this turn"""

    def __len__(self) -> int:
        return self._count

    def waiting_with(self, frame: Buffer) -> int:
        """Frames of the same flow that wait."""
        return len(self._flows.get(flow_of(frame), ()))

    def put(self, frame: bytes) -> None:
        """Behind those of its flow."""
        flow = flow_of(frame)
        if flow not in self._flows:
            self._flows[flow] = deque()
            self._deficits[flow] = 0
            self._turns.append(flow)
        self._flows[flow].append(frame)
        self._count += 1

    def take(self) -> bytes:
        """The next one to leave. Raises IndexError when nothing waits."""
        while True:
            flow = self._turns[0]
            waiting = self._flows[flow]
            if not self._is_given:
                self._deficits[flow] += self._longest
                self._is_given = True
            if len(waiting[0]) <= self._deficits[flow]:
                break
            self._turns.rotate(-1)
            self._is_given = False
        frame = waiting.popleft()
        self._count -= 1
        self._deficits[flow] -= len(frame)
        if not waiting:
            del self._flows[flow], self._deficits[flow]
            self._turns.popleft()
            self._is_given = False
        return frame
