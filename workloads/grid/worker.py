"""A worker of GRID as a Machine. It is ATP's, but each packet goes to the node that the plan chose for it. The rate is
the planned one or the one that its window finds. See Fang et al., IEEE/ACM ToN 31(5), 2023, section 5;
`docs/routing.md`.

A packet without a slot in the switch is sent the same way again. A packet without a result in time is sent as RESEND.
The switch then sends all that it holds of the block to the server. A RESEND never opens a slot, as with ATP. When a
plan is replaced, switches and server forget what is not complete. The worker resends all outstanding packets along the
new plan, to be aggregated there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import cython

from workloads.atp.config import AtpConfig
from workloads.atp.window import SendWindow
from workloads.atp.worker import AtpWorker
from workloads.datagrams.problems import refuse
from workloads.gradients import GradientSource, source_of
from workloads.grid.checks import problems_in_plan
from workloads.grid.config import SERVER, GridConfig, GridOrders
from workloads.grid.node_shares import ShareTable
from workloads.grid.pace import Pace
from workloads.grid.window import GridWindow
from workloads.machine import HostMachine
from workloads.wire.aggregation import DatagramFlag, DatagramKind

if not cython.compiled:
    from workloads.kernels import NEVER

__all__ = ["GridWorker", "create_worker"]

_AS_AT_FIRST = ("", "rate", "replanned")
"""causes to send what no switch and no server has"""
_RESEND, _SERVER = int(DatagramFlag.RESEND), SERVER


class GridWorker(AtpWorker):
    """Raises ScenarioError for a configuration that cannot be served. A subclass may override what has no
    underscore."""

    kinds = AtpWorker.kinds | {DatagramKind.RATE}

    def __init__(self, config: GridConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_plan(config), owner=f"worker {config.name}")
        self._plan = config
        AtpWorker.__init__(self, config, source, start_ns=start_ns)
        self._groups.add(int.from_bytes(config.group_ip, "big"))
        self._templates = {SERVER: self._template}
        for goal in config.destinations:
            envelope = replace(config.envelope, dst_ip=goal.ip, dst_mac=goal.mac)
            self._templates[goal.node] = self.template_to(envelope, goal.node)
        self._start_ns = self._seen = start_ns
        self._to_come = deque(config.orders[1:])
        self._pace = Pace(0.0, config.catch_up_ns)
        self.obey(config.orders[0], start_ns)

    def due(self) -> int:
        due, window = AtpWorker.due(self), self._window
        if self._failed:
            return NEVER
        if self._to_come and not self.finished:
            due = min(due, self._start_ns + self._to_come[0].at_ns)
        paced = self._pace.due()
        if self._seen < paced < due and window.has_more(self.may_leave(window.next)):
            return paced
        return due

    def wake(self, now: int) -> None:
        window = self._window
        self._seen = now
        AtpWorker.wake(self, now)
        while self._to_come and self._start_ns + self._to_come[0].at_ns <= now:
            self.obey(self._to_come.popleft(), now)
            for packet in range(window.base, window.next):
                if window.is_outstanding(packet):
                    window.ask_again(packet, "replanned")

    def obey(self, orders: GridOrders, now: int) -> None:
        """They hold from now on."""
        window: GridWindow = self._window
        self._shares = ShareTable(orders.shares)
        window.follow(self._shares)
        self._pace.set_rate(orders.rate_bps, now)

    def make_window(self, config: AtpConfig) -> SendWindow:
        first = None if self._plan.orders[0].rate_bps > 0 else self._plan.first_window
        return GridWindow(config.window, config.rto_ns, first=first, seed=config.collective.rank)

    def in_pace(self, now: int) -> bool:
        self._seen = now
        return now >= self._pace.due()

    def charge(self, frame_bytes: int, now: int) -> None:
        self._pace.charge(frame_bytes, now)

    def begin(self, now: int) -> None:
        self._pace.start(now)
        AtpWorker.begin(self, now)

    def collided(self, packet: int, now: int) -> None:
        window: GridWindow = self._window
        if window.is_outstanding(packet):
            window.refuse(packet)

    def encode(self, packet: int, cause: str) -> bytes:
        node = self._shares.node_of(self._rank, packet)
        together = self._shares.together(node, packet) if node != _SERVER else 1
        return self._written(self._templates[node], packet, 0 if cause in _AS_AT_FIRST else _RESEND, together)


def create_worker(config: GridConfig, start_ns: int) -> HostMachine:
    """A GridWorker with its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError
    when its data is not installed."""
    return GridWorker(config, source_of(config), start_ns=start_ns)
