"""Whether pauses and rate changes changed anything: was there anything that they could hold up?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from testbed.faults.events import NOTHING_CARRIED, NOTHING_HELD_UP, FaultMissed
from workloads.machine import Event

__all__ = ["Effects", "frames_received"]

_RX_PACKETS = 1
"""column behind the interface's name in /proc/PID/net/dev"""
_Place = tuple[str, str]
"""link, direction"""


def frames_received(pid: int) -> int:
    """By all interfaces but lo of the process's namespace since they were made. Raises OSError."""
    lines = Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii").splitlines()
    cells = [line.partition(":") for line in lines if ":" in line]
    return sum(int(rest.split()[_RX_PACKETS]) for name, _, rest in cells if name.strip() != "lo")


class Effects:
    """Reports faults that changed nothing to `tell`.

    A node that stands still holds up the frames that come to it meanwhile. Its timers cannot be seen from outside. So a
    pause that held up a timer and no frame is reported as one that changed nothing.
    """

    def __init__(self, tell: Callable[[Event], None], received: Callable[[int], int] = frames_received) -> None:
        self._tell, self._received = tell, received
        self._pauses: dict[str, tuple[str, int, int]] = {}
        """(fault, pid, frames received when it began) by node"""
        self._rates: dict[tuple[str, _Place], int] = {}
        """bytes carried when a fault changed the rate"""

    def begin_pause(self, fault: str, node: str, pid: int) -> None:
        with suppress(OSError):  # it ended by itself, and its end is judged
            self._pauses[node] = fault, pid, self._received(pid)

    def end_pause(self, node: str) -> None:
        """Before the node goes on."""
        found = self._pauses.pop(node, None)
        with suppress(OSError):
            if found is not None and self._received(found[1]) == found[2]:
                self._tell(FaultMissed(found[0], "pause", node, "", 1, NOTHING_HELD_UP))

    def end_pauses(self) -> None:
        """The run is over."""
        for node in list(self._pauses):
            self.end_pause(node)

    def begin_rate(self, fault: str, place: _Place, carried: int) -> None:
        self._rates[fault, place] = carried

    def end_rate(self, fault: str, place: _Place, carried: int) -> None:
        if self._rates.pop((fault, place), None) == carried:
            self._tell(FaultMissed(fault, "rate_change", *place, 1, NOTHING_CARRIED))

    def end_rates(self, place: _Place, carried: int) -> None:
        """The run is over."""
        for fault in [fault for fault, where in self._rates if where == place]:
            self.end_rate(fault, place, carried)
