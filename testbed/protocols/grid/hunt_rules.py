"""Rules of GRID's slots and detours: breaking them costs time and no sum. They are a model of every switch, made of the
steps in traced runs and of the reports of workers and switches in any run.

- `slots_follow_table`: a slot is where its last step left it. A result frees the slot of its own block and no other,
  and so do sums and flushes. A sum leaves complete exactly when all parts are inside that the plan sends there.
- `ghosts_go`: no packet meets a block of a window or more before it in its slot, nor frees a younger one.
- `flush_names_asker`: what is flushed has the part of the worker that asked inside.
- `rest_goes_around`: once a part of a block went around a switch, or was flushed, the other parts that the plan sends
  there go around too. This ends when all have, or when its sum passes. Nothing else goes around while there are tokens.
- `right_node`: under one plan no switch gets what the plan sends elsewhere.
- `asks_the_server_in_the_end`: what was turned away is sent as at first three times at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from switch_nodes.config import SwitchConfig
from switch_nodes.events import PlanInstalled
from switch_nodes.routes.layout import RoutedSwitch, RouteOrders
from testbed.checkers import CheckContext
from testbed.history.events import NodeExited
from workloads.datagrams.blocks import PartialSent, SlotChanged
from workloads.events import DatagramResent
from workloads.grid.node_shares import ShareTable
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = ["GRID_RULES", "broken_grid_rules"]

GRID_RULES = (
    "slots_follow_table", "ghosts_go", "flush_names_asker", "rest_goes_around", "right_node",
    "asks_the_server_in_the_end",
)  # fmt: skip
_TURNED_AWAY_AT_MOST = 3
"""times in a row that a packet leaves as at first"""
_OPENS = ("new", "completing", "refused")
"""steps of an empty slot that may have asked for tokens"""
_ELEMENT_BYTES, _SECOND_BITS = 4, 8 * 10**9

Broken = Iterator[tuple[str, str]]


def broken_grid_rules(context: CheckContext) -> Broken:
    """(rule, what broke it)."""
    yield from _turned_away(context)
    if not context.plan.scenario.trace:
        return
    opened = Counter(
        record.node
        for record in context.events(SlotChanged)
        if record.event.state == "empty" and record.event.cause in _OPENS
    )
    models = {
        switch.name: _SwitchModel(switch, switch.grid, opened[switch.name])
        for switch in context.plan.switches
        if switch.grid is not None
    }
    for record in context.history:
        event = record.event
        if isinstance(event, NodeExited):
            model = models.get(record.node)
            if model is not None:
                model.start_anew()
            continue
        model = models.get(record.node)
        if model is None:
            continue
        if isinstance(event, PlanInstalled):
            model.obey()
        elif isinstance(event, SlotChanged):
            yield from model.step(event)
        elif isinstance(event, PartialSent):
            yield from model.sent(event)


def _turned_away(context: CheckContext) -> Broken:
    times: Counter[tuple[str, int]] = Counter()
    for record in context.history:
        if isinstance(record.event, NodeExited):  # a worker that starts anew sends all once more
            times = Counter({packet: count for packet, count in times.items() if packet[0] != record.node})
            continue
        if not isinstance(record.event, DatagramResent) or record.event.cause != "rate":
            continue
        packet = record.node, record.event.block
        times[packet] += 1
        if times[packet] == _TURNED_AWAY_AT_MOST + 1:
            yield (
                "asks_the_server_in_the_end",
                f"{packet[0]} sent block {packet[1]} as at first when it had been turned away {times[packet]} times",
            )


class _SwitchModel:
    """The state that a switch must have, according to its reports. `opened`: how often it may have asked for tokens."""

    def __init__(self, config: SwitchConfig, grid: RoutedSwitch, opened: int) -> None:
        self._name, self._grid, (self._job,) = config.name, grid, config.jobs
        frame = AGGREGATION_OVERHEAD_BYTES + _ELEMENT_BYTES * self._job.elements
        most = opened * len(self._job.members) * frame * _SECOND_BITS
        self._has_tokens = grid.capacity_bps > 0 and most < grid.capacity_bps * grid.depth_ns
        """the bucket is deep enough for all that was ever opened"""
        self._owners: dict[int, int] = {}
        """by slot, the block that it serves"""
        self._inside: dict[int, int] = {}
        """by slot, the ranks inside"""
        self._around: dict[int, int] = {}
        """by block: the ranks whose parts went around the switch"""
        self._asker: int | None = None
        """rank whose packet flushed the sum that is reported next"""
        self.start_anew()

    def start_anew(self) -> None:
        self._plans = -1
        self._forget()

    def obey(self) -> None:
        """The next plan holds, and what is not complete is forgotten."""
        self._plans += 1
        self._shares = ShareTable(self._orders.shares)
        self._forget()

    def step(self, step: SlotChanged) -> Broken:
        slot, state = step.slot, step.state
        owner = self._owners.get(slot)
        if (owner is None) != (state == "empty"):
            was = "empty" if owner is None else f"with block {owner}"
            yield "slots_follow_table", f"{self._title(step)} was left {was}, and {state} at the next step"
            self._set(slot, None if state == "empty" else step.block)
            owner = self._owners.get(slot)
        yield from _STEPS[step.cause](self, step, owner)
        if (slot in self._owners) != (step.next == "filling"):
            yield "slots_follow_table", f"{self._title(step)} became {step.next} by {step.cause}"

    def sent(self, partial: PartialSent) -> Broken:
        """A sum left, whole or flushed."""
        asker, self._asker = self._asker, None
        if partial.reason == "flushed" and asker is not None and not partial.bitmap >> asker & 1:
            yield (
                "flush_names_asker",
                f"{self._name} flushed block {partial.block} without rank {asker}, which asked",
            )

    # One for each cause: what must be, and what is from then on.

    def new(self, step: SlotChanged, owner: int | None) -> Broken:
        yield from self._may_enter(step, owner)
        self._enter(step)
        inside = self._inside[step.slot]
        if inside == self._expected(step):
            yield "slots_follow_table", f"{self._title(step)} has all parts of block {step.block}, and waits"

    def completing(self, step: SlotChanged, owner: int | None) -> Broken:
        yield from self._may_enter(step, owner)
        self._enter(step)
        inside, wanted = self._inside[step.slot], self._expected(step)
        if inside != wanted:
            yield (
                "slots_follow_table",
                f"{self._title(step)} sent block {step.block} as complete with {inside:#x} of {wanted:#x} inside",
            )
        self._set(step.slot, None)

    def own(self, step: SlotChanged, owner: int | None) -> Broken:
        if owner != step.block:
            yield (
                "slots_follow_table",
                f"{self._title(step)} serves block {owner}, and took {step.cause} for that of block {step.block}",
            )

    def successor(self, step: SlotChanged, owner: int | None) -> Broken:
        assert owner is not None, "an empty slot was reported above"
        if step.block - owner < self._job.window:
            yield (
                "ghosts_go",
                f"{self._title(step)} gave up block {owner} for {step.block}: it may not be over",
            )
        self._set(step.slot, None)

    def other(self, step: SlotChanged, owner: int | None) -> Broken:
        assert owner is not None, "an empty slot was reported above"
        if owner == step.block:
            yield "slots_follow_table", f"{self._title(step)} serves block {owner}, and turned a part of it away"
        elif step.block - owner >= self._job.window:
            yield (
                "ghosts_go",
                f"{self._title(step)} kept block {owner}, which is over, when {step.block} came",
            )
        if self._grid.on_collision == "to_ps":
            self._went_around(step, 1 << step.rank)

    def refused(self, step: SlotChanged, owner: int | None) -> Broken:
        block, rank, wanted = step.block, step.rank, self._expected(step)
        if not wanted >> rank & 1:
            if len(self._grid.orders) == 1:
                yield "right_node", f"{self._name} got block {block} of rank {rank}, which the plan sends elsewhere"
            return
        if block not in self._around:
            if self._has_tokens or owner is not None:
                yield (
                    "rest_goes_around",
                    f"block {block} of rank {rank} went around {self._name}, though no other part had, or all had",
                )
            self._around[block] = 0
        self._went_around(step, 1 << rank)

    def resend_own(self, step: SlotChanged, owner: int | None) -> Broken:
        yield from self.own(step, owner)
        self._asker = step.rank
        self._went_around(step, self._inside[step.slot] | 1 << step.rank)
        self._set(step.slot, None)

    def resend_other(self, step: SlotChanged, owner: int | None) -> Broken:
        if owner == step.block:
            yield (
                "slots_follow_table",
                f"{self._title(step)} serves block {owner}, and a part that was sent again did not take it along",
            )
        self._went_around(step, 1 << step.rank)
        yield from ()

    def result_own(self, step: SlotChanged, owner: int | None) -> Broken:
        yield from self.own(step, owner)
        self._set(step.slot, None)
        self._around.pop(step.block, None)

    def result_other(self, step: SlotChanged, owner: int | None) -> Broken:
        if owner == step.block:
            yield (
                "slots_follow_table",
                f"the result of block {owner} did not free {self._title(step)}, which serves it",
            )
        self._around.pop(step.block, None)

    @property
    def _orders(self) -> RouteOrders:
        return self._grid.orders[min(self._plans, len(self._grid.orders) - 1)]

    def _forget(self) -> None:
        for known in (self._owners, self._inside, self._around):
            known.clear()
        self._asker = None

    def _title(self, step: SlotChanged) -> str:
        return f"slot {step.slot} of {self._name}"

    def _expected(self, step: SlotChanged) -> int:
        return self._shares.expected(self._grid.node, step.block)

    def _set(self, slot: int, owner: int | None) -> None:
        self._owners.pop(slot, None)
        self._inside[slot] = 0
        if owner is not None:
            self._owners[slot] = owner

    def _may_enter(self, step: SlotChanged, owner: int | None) -> Broken:
        if owner is not None:
            yield from self.own(step, owner)
        elif step.block in self._around:
            yield (
                "rest_goes_around",
                f"block {step.block} of rank {step.rank} opened {self._title(step)}, though other parts went around",
            )

    def _enter(self, step: SlotChanged) -> None:
        slot = step.slot
        inside = self._inside.get(slot, 0) | 1 << step.rank
        self._set(slot, step.block)
        self._inside[slot] = inside

    def _went_around(self, step: SlotChanged, ranks: int) -> None:
        block, wanted = step.block, self._expected(step)
        gone = self._around.get(block, 0) | ranks
        if gone & wanted == wanted:
            self._around.pop(block, None)
        else:
            self._around[block] = gone


_STEPS = {
    "new": _SwitchModel.new,
    "completing": _SwitchModel.completing,
    "repeat": _SwitchModel.own,
    "mismatch": _SwitchModel.own,
    "successor": _SwitchModel.successor,
    "other": _SwitchModel.other,
    "refused": _SwitchModel.refused,
    "resend_own": _SwitchModel.resend_own,
    "resend_other": _SwitchModel.resend_other,
    "result_own": _SwitchModel.result_own,
    "result_other": _SwitchModel.result_other,
}
"""by cause"""
