"""Program `grid`: one switch of a plan of gradient routes (Fang et al., IEEE/ACM ToN 31(5), 2023, section 5;
`docs/routing.md`).

`service` has what happens to packets of the plan; here is what the program shares with all programs.
"""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding import ForwardProgram
from switch_nodes.grid.checks import check_grid
from switch_nodes.grid.service import GridService
from switch_nodes.grid.tables import DROP_REASONS
from workloads.datagrams.blocks import MemoryAtEnd
from workloads.kernels import NEVER
from workloads.machine import Buffer
from workloads.quick import Quick
from workloads.wire.aggregation import AGGREGATION, AGGREGATION_PORT, Policy
from workloads.wire.places import DPORT, ETHERTYPE, IS_IPV4, PROTOCOL_AT, UDP_PAYLOAD_AT

__all__ = ["GridProgram"]

_HEADERS = AGGREGATION.span("sequence", UDP_PAYLOAD_AT).stop
"""bytes up to the end of the sequence number"""
_COUNTERS = (
    "data_in", "summed", "flushed", "forgotten", "bypassed", "refused", "passed", "turned_away", "collided",
    "reclaimed", "freed",
    "ghosts_at_end", "routed", "unrouted", "checksum", "malformed",
)  # fmt: skip


class GridProgram(ForwardProgram, GridService):
    """Serves one job. Counters: data_in (packets for its aggregator), summed (complete sums that left), bypassed
    (packets that went around), refused (blocks without tokens). Others are added_R (packets of rank R that were added)
    and those of the table's actions."""

    counter_names = (*ForwardProgram.counter_names, *_COUNTERS, *DROP_REASONS.values())

    def __init__(self, config: SwitchConfig) -> None:
        """Raises ScenarioError for what cannot be served."""
        check_grid(config)
        ForwardProgram.__init__(self, config)
        GridService.__init__(self, config, self.counters, self._events, self._frames)

    @property
    def quick(self) -> Quick:
        """Itself."""
        return self

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.take(port, bytes(frame), now)

    def get_timer(self) -> int | None:
        due = self.due()
        return None if due == NEVER else due

    def handle_timer(self, now: int) -> None:
        self.wake(now)

    def emit(self, port: int, frame: Buffer) -> None:
        self.send(port, bytes(frame))

    def forward_plainly(self, port: int, frame: bytes) -> None:
        """Datagrams of GRID go where the plan sends them, or nowhere."""
        if len(frame) >= _HEADERS and frame[ETHERTYPE] == IS_IPV4 and frame[PROTOCOL_AT] == 17:
            ours = int.from_bytes(frame[DPORT], "big") == AGGREGATION_PORT and frame[UDP_PAYLOAD_AT] & 15 == Policy.GRID
            if ours:
                self.count("unrouted")
                return
        self.forward(port, frame)

    @property
    def slots_in_use(self) -> int:
        return self.tally.occupied

    def finish(self, now: int) -> None:
        self._now = now
        if self._next_sample != NEVER:
            self.sample()
        held = [slot for slot in self.memory.slots if slot is not None]
        ghosts = sum(self.tally.is_ghost(slot.block, slot.bitmap) for slot in held)
        self.count("ghosts_at_end", ghosts)
        size, tally = len(self.memory.slots), self.tally
        left = len(held) - ghosts
        self.tell(MemoryAtEnd(tally.job, 0, size, left, size, tally.peak, tally.busy_ns, tally.useful_ns))
        ForwardProgram.finish(self, now)
