"""A table answers every pair of its states and events; what is not of the protocol is dropped where it is."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import pytest

from switch_nodes.aggregators.tables import aggregator_table
from switch_nodes.grid.tables import slot_table
from switch_nodes.jobs import AggregatorKnobs
from switch_nodes.netreduce.tables import CONNECTION_TABLE, LEAF_SLOT_TABLE, SLOT_TABLE
from switch_nodes.switchml.tables import SLOT_TABLE as SWITCHML_TABLE
from workloads import automaton
from workloads.automaton import UNFORESEEN, Automaton, Transitions, words
from workloads.rc import REQUESTER_TABLE, RESPONDER_TABLE
from workloads.rc.dcqcn_table import REACTION_TABLE
from workloads.server.tables import BLOCK_TABLE
from workloads.uc.receiver_table import RECEIVER_TABLE

TABLES: dict[str, Mapping] = {
    "aggregators": aggregator_table(AggregatorKnobs()),
    "grid": slot_table("drop"),
    "netreduce connection": CONNECTION_TABLE,
    "netreduce slot": SLOT_TABLE,
    "netreduce leaf": LEAF_SLOT_TABLE,
    "switchml": SWITCHML_TABLE,
    "server": BLOCK_TABLE,
    "requester": REQUESTER_TABLE,
    "responder": RESPONDER_TABLE,
    "reaction point": REACTION_TABLE,
    "uc receiver": RECEIVER_TABLE,
}


class Light(Enum):
    ON = 1
    OFF = 2


def test_it_lists_the_protocol_and_answers_everything() -> None:
    table = Transitions({(Light.OFF, "push"): (Light.ON, "shine")}, lambda state: (state, "drop"))
    assert table[Light.OFF, "push"] == (Light.ON, "shine")
    assert table[Light.ON, "push"] == (Light.ON, "drop")
    assert dict(table) == {(Light.OFF, "push"): (Light.ON, "shine")}
    assert (Light.ON, "push") not in table


class Deed(Enum):
    SHINE = 1
    REST = 2
    DROP_PUSH = 3
    UNFORESEEN = 4
    DROP_PULL = 5


LAMP = Automaton(
    "lamp",
    {
        (Light.OFF, Light.ON): (Light.ON, Deed.SHINE),
        (Light.ON, Light.ON): (Light.ON, Deed.DROP_PUSH),
        (Light.ON, Light.OFF): (Light.OFF, Deed.REST),
    },
    Deed.UNFORESEEN,
    {Deed.DROP_PUSH: "pushed", Deed.DROP_PULL: "pulled"},
)


def test_all_that_is_said_of_an_automaton_comes_from_its_table() -> None:
    assert LAMP[Light.OFF, Light.OFF] == (Light.OFF, Deed.UNFORESEEN)
    assert LAMP.steps == ("lamp off/on", "lamp on/on", "lamp on/off")
    assert LAMP.reasons == {Deed.DROP_PUSH: "pushed", Deed.UNFORESEEN: UNFORESEEN}, "it never drops what is pulled"
    assert words(Light.ON, Deed.DROP_PUSH) == ("on", "drop_push")
    assert LAMP.diagram() == (
        "stateDiagram-v2\n    [*] --> OFF\n    OFF --> ON: ON / SHINE\n    ON --> ON: ON / DROP_PUSH\n    ON --> OFF: "
        "OFF / REST\n"
    )


class Press(Enum):
    PUSH = 1
    PULL = 2
    TURN = 3
    SHAKE = 4


def test_a_diagram_has_one_note_for_what_stays_in_every_state() -> None:
    table = Automaton(
        "lamp",
        {
            (Light.OFF, Press.PUSH): (Light.OFF, Deed.REST),
            (Light.ON, Press.PUSH): (Light.ON, Deed.REST),
            (Light.OFF, Press.SHAKE): (Light.OFF, Deed.REST),
            (Light.ON, Press.SHAKE): (Light.ON, Deed.REST),
            (Light.OFF, Press.PULL): (Light.OFF, Deed.REST),
            (Light.ON, Press.PULL): (Light.ON, Deed.DROP_PULL),
            (Light.ON, Press.TURN): (Light.ON, Deed.REST),
        },
        Deed.UNFORESEEN,
        {},
    )
    assert table.diagram() == (
        "stateDiagram-v2\n    [*] --> OFF\n    OFF --> OFF: PULL / REST\n    ON --> ON: PULL / DROP_PULL\n"
        "    ON --> ON: TURN / REST\n    note left of OFF\n        In every state, and the state stays:\n"
        "        PUSH, SHAKE / REST\n    end note\n"
    )


@pytest.mark.parametrize("name", TABLES)
def test_every_pair_has_an_answer(name: str) -> None:
    table = TABLES[name]
    state, event = next(iter(table))
    for before in type(state):
        for cause in type(event):
            after = table[before, cause][0]
            assert type(after) is type(state)
            assert (before, cause) in table or after is before


@pytest.mark.parametrize("table", [CONNECTION_TABLE, SLOT_TABLE, LEAF_SLOT_TABLE], ids=["connection", "slot", "leaf"])
def test_a_look_up_of_netreduce_calls_no_python(table: Automaton) -> None:  # type: ignore[type-arg]
    """`Enum` computes a hash from the name, in Python, for each packet."""
    (state, cause), (_, action) = next(iter(table.items()))
    for named in (state, cause, action):
        assert type(named).__hash__ is object.__hash__
        assert {member: member.name for member in type(named)}[named] == named.name


def test_a_table_is_numbered_once_and_nobody_shares_the_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Automaton("light", {(Light.OFF, Light.ON): (Light.ON, Light.ON)}, Light.OFF, {})
    after, actions = table.numbered(Light, Light)
    monkeypatch.setattr(automaton, "number_of", lambda named: pytest.fail(f"numbers {named} again"))
    assert (after, actions) == table.numbered(Light, Light)
    after.clear()
    assert table.numbered(Light, Light)[0] != after
