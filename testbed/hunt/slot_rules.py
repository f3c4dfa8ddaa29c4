"""Rules of slots that the stock checkers cannot judge, since breaking them costs time and no sum: checks of the hunt's
own.

- `slots_follow_table` (traced schedules): a slot is where its last step left it, and a result frees the slot of its own
  block.
- `equals_stay`: where all packets are equally urgent, or preemption is off, no packet evicts another.
- `right_server`: no server gets what is another server's.
- `ghosts_go`: with `reclaim`, a packet never meets an older block of its own job, a window or more before it, in its
  slot.

GRID has rules of its own: `grid_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator

from testbed.checkers import CheckContext
from testbed.history.events import NodeExited
from testbed.hunt.protocols import BLOCK_STEPS, hunted_in
from testbed.hunt.survival_datagrams import window_of
from testbed.plan.jobs import FIRST_JOB
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.datagrams.blocks import Collided, PartialSent, SlotChanged
from workloads.events import FrameRejected

__all__ = ["SLOT_RULES", "broken_rules_of_slots", "broken_slot_rules"]

SLOT_RULES = ("slots_follow_table", "equals_stay", "ghosts_go", "right_server")
_FREED = ("result_own", "result_overflow")
_TAKEN = "other_lower"
"""with which another block takes a slot that is occupied, where it may"""


def broken_slot_rules(context: CheckContext) -> Iterator[tuple[str, str]]:
    """(rule, what broke it)."""
    hunted = hunted_in(context.plan.scenario)
    if hunted is not None:
        yield from hunted.hunt.broken_rules(context)


def broken_rules_of_slots(context: CheckContext) -> Iterator[tuple[str, str]]:
    """Of the rules above."""
    yield from _steps(context)
    yield from _evictions(context)
    yield from _ghosts(context)
    yield from _strangers(context)


def _steps(context: CheckContext) -> Iterator[tuple[str, str]]:
    hunted = hunted_in(context.plan.scenario)
    shared = hunted is not None and hunted.server
    evicts = hunted is not None and hunted.knobs and context.plan.scenario.switch.knobs.preempt
    states: dict[tuple[object, ...], str] = {}
    owners: dict[tuple[object, ...], tuple[int, int]] = {}
    for record in context.history:
        if isinstance(record.event, NodeExited):
            for slot in [slot for slot in states if slot[0] == record.node]:
                states.pop(slot)
                owners.pop(slot, None)
        if not isinstance(record.event, SlotChanged) or (record.event.state, record.event.cause) in BLOCK_STEPS:
            continue
        slot = record.node, record.event.slot, record.event.version, -1 if shared else record.event.job
        place = f"slot {record.event.slot} of {record.node}"
        before, now = states.get(slot), (record.event.job, record.event.block)
        if before is not None and before != record.event.state:
            yield (
                "slots_follow_table",
                f"{place} was left {before}, and {record.event.state} when job {now[0]} came back to it",
            )
        if shared and record.event.cause in _FREED and owners.get(slot, now) != now:
            yield (
                "slots_follow_table",
                f"the result of block {now[1]} of job {now[0]} freed {place}, which serves {owners[slot]}",
            )
        if shared and record.event.cause == "result_other" and owners.get(slot) == now:
            yield (
                "slots_follow_table",
                f"the result of block {now[1]} of job {now[0]} did not free {place}, which serves it",
            )
        states[slot] = record.event.next
        if record.event.next == "empty":
            owners.pop(slot, None)
        elif record.event.state == "empty" or (evicts and record.event.cause == _TAKEN):
            owners[slot] = now


def _evictions(context: CheckContext) -> Iterator[tuple[str, str]]:
    scenario = context.plan.scenario
    equal = all(job.priority == "equal" for job in scenario.all_jobs) or not scenario.switch.knobs.preempt
    equal = equal or KeyGroup.PRIORITY not in protocol_of(scenario.job.protocol).optional_keys()
    for record in context.events(PartialSent) if equal else ():
        if record.event.reason == "evicted":
            yield (
                "equals_stay",
                f"{record.node} evicted block {record.event.block} of job {record.event.job} for an equal",
            )


def _ghosts(context: CheckContext) -> Iterator[tuple[str, str]]:
    scenario = context.plan.scenario
    if not scenario.switch.knobs.reclaim:
        return
    windows = {
        FIRST_JOB + index if job.number is None else job.number: window_of(scenario, job)
        for index, job in enumerate(scenario.all_jobs)
    }
    for record in context.events(Collided):
        same, behind = record.event.owner_job == record.event.job, record.event.block - record.event.owner_block
        if same and behind >= windows.get(record.event.job, 1 << 32):
            ghost = f"block {record.event.owner_block} of job {record.event.job}, which is over"
            yield (
                "ghosts_go",
                f"{record.node} kept {ghost}, in slot {record.event.slot} when block {record.event.block} came",
            )


def _strangers(context: CheckContext) -> Iterator[tuple[str, str]]:
    servers = {server.name for server in context.plan.servers}
    for record in context.events(FrameRejected):
        if record.node in servers and record.event.reason == "unexpected":
            yield "right_server", f"server {record.node} got {record.event.detail}"
