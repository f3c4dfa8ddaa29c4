"""A traced NetReduce program tells every look into its tables, in order, and does nothing else than an untraced one."""

from __future__ import annotations

from typing import Any

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.events import ConnectionStepped, FrameStepped, SlotStepped
from switch_nodes.netreduce import FastNetReduceProgram, NetReduceProgram, create_netreduce, program
from switch_nodes.netreduce.ring import Ring
from switch_nodes.netreduce.tables import (
    CONNECTION_TABLE,
    FRAME_TABLE,
    SLOT_TABLE,
    ConnectionEvent,
    ConnectionState,
    FrameKind,
    RingSlotEvent,
    RingSlotState,
)
from tests.support.netreduce_cases import CASES
from tests.support.netreduce_harness import Bench, Job
from tests.support.netreduce_mutants import MUTANTS

STEPS = (FrameStepped, ConnectionStepped, SlotStepped)
TABLES = ((program, "FRAME_TABLE"), (program, "CONNECTION_TABLE"), (Ring, "slot_table"))


class Spy(dict[Any, Any]):
    """A table that notes what it is asked."""

    def __init__(self, table: dict[Any, Any], asked: list[Any]) -> None:
        super().__init__(table)
        self.asked, self.name = asked, getattr(table, "name", "")

    def __getitem__(self, key: Any) -> Any:
        self.asked.append(key)
        return super().__getitem__(key)


def named(event: Any) -> Any:
    """What a table was asked, by what was told."""
    match event:
        case FrameStepped(kind=kind):
            return FrameKind[kind.upper()]
        case ConnectionStepped(state=state, cause=what):
            return ConnectionState[state.upper()], ConnectionEvent[what.upper()]
        case SlotStepped(state=state, cause=what):
            return RingSlotState[state.upper()], RingSlotEvent[what.upper()]


class Recorded:
    """Makes programs for a case and keeps what all of them told."""

    def __init__(self, kind: type[NetReduceProgram], *, trace: bool) -> None:
        self.told: list[Any] = []
        told = self.told

        class Noted(kind):  # type: ignore[misc, valid-type]
            def __init__(self, config: SwitchConfig) -> None:
                super().__init__(SwitchConfig(**{name: getattr(config, name) for name in _FIELDS} | {"trace": trace}))

            def tell(self, event: Any) -> None:
                told.append(event)
                super().tell(event)

        self.make = Noted


_FIELDS = SwitchConfig.__slots__  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CASES)
def test_every_look_is_told_in_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Recorded(NetReduceProgram, trace=False)
    CASES[name](plain.make)
    asked: list[Any] = []
    for owner, table in TABLES:
        monkeypatch.setattr(owner, table, Spy(getattr(owner, table), asked))
    traced = Recorded(NetReduceProgram, trace=True)
    CASES[name](traced.make)
    steps = [event for event in traced.told if isinstance(event, STEPS)]
    assert [named(event) for event in steps] == asked
    assert [event for event in traced.told if not isinstance(event, STEPS)] == plain.told
    for event in steps:
        if isinstance(event, FrameStepped):
            assert FRAME_TABLE[named(event)].name.lower() == event.action
        elif isinstance(event, ConnectionStepped):
            after, action = CONNECTION_TABLE[named(event)]
            assert (after.name.lower(), action.name.lower()) == (event.next, event.action)
        else:
            assert SLOT_TABLE[named(event)][0].name.lower() == event.next


def test_a_slot_from_its_first_contribution_to_its_reclaim() -> None:
    bench = Bench(Job(size=2, lengths=(1, 2, 2, 2, 2)), trace=True)
    bench.run_through(4)
    told = [event for event in bench.take(SlotStepped) if isinstance(event, SlotStepped)]
    ring, slot = 7, 1 * 4 + 1  # message 1, packet 1, of 4 packets at most
    assert [event for event in told if event.slot == slot] == [
        SlotStepped(ring, slot, 1, 1, 0, "empty", "new", "open"),
        SlotStepped(ring, slot, 1, 1, 1, "open", "completing", "done"),
        SlotStepped(ring, slot, 1, 1, -1, "done", "reclaim", "empty"),
    ]


def test_a_connection_step_names_ring_rank_and_qpn() -> None:
    bench = Bench(Job(size=2), trace=True)
    bench.data(1, 0, 0)
    assert bench.events[:3] == [
        FrameStepped("data", "connection"),
        ConnectionStepped(7, 1, 0x101, "unknown", "start_ina", "ring", "aggregate"),
        SlotStepped(7, 0, 0, 0, 1, "empty", "new", "open"),
    ]


def test_traced_programs_are_the_reference() -> None:
    assert type(create_netreduce(Job().config(trace=True))) is NetReduceProgram
    assert type(create_netreduce(Job().config())) in (NetReduceProgram, FastNetReduceProgram)


@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_broken_programs_are_broken_when_traced_too(mutant: type[NetReduceProgram], name: str) -> None:
    with pytest.raises(AssertionError):
        CASES[name](Recorded(mutant, trace=True).make)


@pytest.mark.parametrize("state", ConnectionState)
def test_a_step_names_its_rank_where_the_connection_is_one_of_a_ring(state: ConnectionState) -> None:
    event = ConnectionStepped(1, 0, 17, "unknown", "start_ina", state.name.lower(), "aggregate")
    assert event.knows_rank is (state is ConnectionState.RING)
