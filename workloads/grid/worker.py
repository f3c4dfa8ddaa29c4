"""A worker of GRID as a Machine: ATP's, but each packet goes to the node that the plan chose for it, at the planned
rate or at the one that its window finds (Fang et al., IEEE/ACM ToN 31(5), 2023, section 5; `docs/routing.md`).

What a switch had no slot for is sent the same way again; what had no result in time goes as RESEND, which makes the
switch send all that it holds of the block to the server and never opens a slot, as with ATP. When a plan is replaced,
switches and server forget what is not complete, and all that is outstanding is sent again along the new one, to be
aggregated there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from workloads.atp.config import AtpConfig
from workloads.atp.window import SendWindow
from workloads.atp.worker import AtpWorker
from workloads.datagrams.problems import refuse
from workloads.gradients import GradientSource, source_of
from workloads.grid.checks import problems_in_plan
from workloads.grid.config import GridConfig, GridOrders
from workloads.grid.node_shares import SERVER, ShareTable
from workloads.grid.pace import Pace
from workloads.grid.window import GridWindow
from workloads.kernels import NEVER
from workloads.wire.aggregation import AGGREGATION_PORT, DatagramFlag, DatagramKind, encode_datagram

__all__ = ["GridWorker", "create_worker"]

_AS_AT_FIRST = ("rate", "replanned")
"""causes to send again what no switch and no server has"""


class GridWorker(AtpWorker):
    """Raises ScenarioError for a configuration that cannot be served."""

    kinds = AtpWorker.kinds | {DatagramKind.RATE}

    def __init__(self, config: GridConfig, source: GradientSource, *, start_ns: int = 0) -> None:
        refuse(problems_in_plan(config), owner=f"worker {config.name}")
        self._plan = config
        super().__init__(config, source, start_ns=start_ns)
        self._groups.add(int.from_bytes(config.group_ip, "big"))
        self._envelopes = {
            goal.node: replace(config.envelope, dst_ip=goal.ip, dst_mac=goal.mac) for goal in config.destinations
        } | {SERVER: config.envelope}
        self._start_ns = self._seen = start_ns
        self._to_come = deque(config.orders[1:])
        self._pace = Pace(0.0, config.catch_up_ns)
        self._obey(config.orders[0], start_ns)

    def due(self) -> int:
        due = super().due()
        if self.failed:
            return NEVER
        if self._to_come and not self.finished:
            due = min(due, self._start_ns + self._to_come[0].at_ns)
        paced = self._pace.due
        if paced is not None and paced > self._seen and self._window.has_more(self.may_leave):
            due = min(due, paced)
        return due

    def wake(self, now: int) -> None:
        self._seen = now
        super().wake(now)
        while self._to_come and self._start_ns + self._to_come[0].at_ns <= now:
            self._obey(self._to_come.popleft(), now)
            for packet in range(self._window.base, self._window.next):
                if self._window.is_outstanding(packet):
                    self._window.ask_again(packet, "replanned")

    def _obey(self, orders: GridOrders, now: int) -> None:
        self._shares = ShareTable(orders.shares)
        self._pace.set_rate(orders.rate_bps, now)

    def make_window(self, config: AtpConfig) -> SendWindow:
        first = None if self._plan.orders[0].rate_bps > 0 else self._plan.first_window
        return GridWindow(config.window, config.rto_ns, first=first, seed=config.collective.rank)

    def in_pace(self, now: int) -> bool:
        self._seen = now
        due = self._pace.due
        return due is None or now >= due

    def charge(self, frame_bytes: int, now: int) -> None:
        self._pace.charge(frame_bytes, now)

    def begin(self, now: int) -> None:
        self._pace.start(now)
        super().begin(now)

    def collided(self, packet: int, now: int) -> None:
        window = self._window
        if window.is_outstanding(packet):
            assert isinstance(window, GridWindow), "made by make_window"
            window.refuse(packet)

    def encode(self, packet: int, cause: str) -> bytes:
        header, payload = self._contents(packet)
        node = self._shares.node_of(self._rank, packet)
        together = self._shares.expected(node, packet).bit_count() if node != SERVER else 1
        asks = bool(cause) and cause not in _AS_AT_FIRST
        header = header._replace(flags=DatagramFlag.RESEND if asks else 0, node=node, fan_in0=together)
        return encode_datagram(self._envelopes[node], AGGREGATION_PORT, header, payload)


def create_worker(config: GridConfig, start_ns: int) -> GridWorker:
    """With its gradient source. Raises ScenarioError for what cannot be served, HostCapabilityError when its data is
    not installed."""
    return GridWorker(config, source_of(config), start_ns=start_ns)
