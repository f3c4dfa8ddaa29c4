"""The steps that the tables hold, by name, and those that cannot happen, with the reason.

A name is `table state/event`, as `requester sending/ack_some`; of the frame table `frame kind`. Slots of datagram
protocols have tables of their own (`protocols`), and so have blocks of parameter servers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from switch_nodes.events import ConnectionStepped, FrameStepped, SlotStepped
from testbed.hunt.contract import whole_protocol
from testbed.hunt.draw_fabric import FABRIC
from testbed.hunt.protocols import BLOCK_STEPS, hunted_of
from testbed.scenario.protocols.names import DEFAULT_PROTOCOL
from workloads.automaton import step_names
from workloads.datagrams.blocks import SlotChanged
from workloads.events import QpStepped
from workloads.machine import Event
from workloads.rc.requester_table import REQUESTER_TABLE
from workloads.rc.responder_table import RESPONDER_TABLE

__all__ = ["FABRIC_IMPOSSIBLE", "FABRIC_TRANSITIONS", "IMPOSSIBLE", "TRANSITIONS", "step_of", "steps_of_kind"]

_ON_RACK, _ON_FABRIC = whole_protocol(DEFAULT_PROTOCOL).ring_steps()
TRANSITIONS: tuple[str, ...] = (
    *step_names("requester", REQUESTER_TABLE),
    *step_names("responder", RESPONDER_TABLE),
    *_ON_RACK,
)
"""of a rack's hosts and its switch"""
FABRIC_TRANSITIONS: tuple[str, ...] = (
    *TRANSITIONS,
    *_ON_FABRIC,
)
"""of hosts, leaves and spines"""


def step_of(event: Event) -> str | None:
    """The name of the step that an event of a traced run records; None for other events."""
    named = _NAMES.get(type(event))
    return None if named is None else named(event)


def _of_slot(event: Any) -> str:
    step = event.state, event.cause
    return f"{'block' if step in BLOCK_STEPS else 'slot'} {'/'.join(step)}"


_NAMES: Mapping[type[Event], Callable[[Any], str]] = {
    QpStepped: lambda event: f"{event.side} {event.state}/{event.cause}",
    FrameStepped: lambda event: f"frame {event.kind}",
    ConnectionStepped: lambda event: f"connection {event.state}/{event.cause}",
    SlotStepped: lambda event: f"{event.table} {event.state}/{event.cause}",
    SlotChanged: _of_slot,
}
"""by kind of event: the name of the step"""


def steps_of_kind(kind: str) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """(steps that the tables hold, the steps among them that cannot happen, with reasons) in hunts of a kind."""
    hunted = hunted_of(kind)
    if hunted is not None:
        return hunted.steps, hunted.impossible
    return (FABRIC_TRANSITIONS, FABRIC_IMPOSSIBLE) if kind == FABRIC else (TRANSITIONS, IMPOSSIBLE)


_NOTHING_SENT = "nothing is unacknowledged then, so an answer is stale or about a PSN that was never sent"
_FLUSHED = "a failed requester has flushed all, so an answer is stale or about a PSN that was never sent"
_NO_TIMER = "no timer runs then"
_JUDGED_BY_PLACE = "a failed responder takes a served opcode at the expected PSN by its place, and looks no further"
_OPENED = "memory is asked for when a message begins, and none begins inside another"

IMPOSSIBLE: Mapping[str, str] = {
    "requester idle/ack_some": _NOTHING_SENT,
    "requester idle/ack_all": _NOTHING_SENT,
    "requester idle/nak_sequence": _NOTHING_SENT,
    "requester idle/nak_sequence_spent": _NOTHING_SENT,
    "requester idle/nak_rnr": _NOTHING_SENT,
    "requester idle/nak_rnr_spent": _NOTHING_SENT,
    "requester idle/nak_fatal": _NOTHING_SENT,
    "requester idle/timer": _NO_TIMER,
    "requester idle/timer_spent": _NO_TIMER,
    "requester error/ack_some": _FLUSHED,
    "requester error/ack_all": _FLUSHED,
    "requester error/nak_sequence": _FLUSHED,
    "requester error/nak_sequence_spent": _FLUSHED,
    "requester error/nak_rnr": _FLUSHED,
    "requester error/nak_rnr_spent": _FLUSHED,
    "requester error/nak_fatal": _FLUSHED,
    "requester error/timer": _NO_TIMER,
    "requester error/timer_spent": _NO_TIMER,
    "responder error/no_receive": _JUDGED_BY_PLACE,
    "responder error/no_access": _JUDGED_BY_PLACE,
    "responder in_message/no_access": _OPENED,
    "responder in_message_gap/no_access": _OPENED,
}
"""steps that no run of a rack takes, whatever comes in; tests ask the automata themselves"""

FABRIC_IMPOSSIBLE: Mapping[str, str] = {**IMPOSSIBLE}
"""steps that no run over a fabric takes"""
