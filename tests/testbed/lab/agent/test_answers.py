"""Answers of an agent: as JSON and back, by the request that they answer."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switch_nodes.fpga.driver import CardIdentity, CardState
from testbed.lab.agent.answers import AgentState, CardAccount, CardStatus, EndedLease, FileEntry, ProcessStatus
from testbed.lab.agent.facts import InterfaceFacts
from testbed.lab.agent.protocol import decode, encode, success
from testbed.lab.agent.requests import (
    ActOnCard,
    AttachGuard,
    BreakLease,
    EndProcesses,
    Hello,
    ListCards,
    ListFiles,
    Request,
    ShowStatus,
    describe_misfit,
    read_answer,
)
from workloads.codec import PLAIN, Misfit

_ACCOUNT = CardAccount(
    "7", "1.0", "TRACE", (("sum", "int32"),), 4, 2, 8, 8, 64, "PROGRAMMED|CONFIGURED", "IDLE", "ab", "netreduce", "1",
    1, 2, "", "",
)  # fmt: skip
_ANSWERS: list[tuple[Request[Any], Any]] = [
    (ActOnCard("fpga0", "state", "t"), _ACCOUNT),
    (ActOnCard("fpga0", "configuration", "t"), ((7, 2, 4, 1), (8, 3, 4, 2))),
    (ActOnCard("fpga0", "counters", "t"), {"frames": 5}),
    (ActOnCard("fpga0", "start", "t"), None),
    (AttachGuard("d0", 1500, (4791,), "t"), InterfaceFacts(1500, "02:00:00:00:00:01", None, up=True, carrier=False)),
    (BreakLease("host"), None),
    (BreakLease("host"), EndedLease("host", "ann@a", 1.0, 2.0, "run", ("r1/h1", "guard of d0"))),
    (ShowStatus("r1"), {"h1": ProcessStatus("finished", None, ""), "h2": ProcessStatus("", 1, "no such thing")}),
    (EndProcesses("r1", "t"), {"h1": -9}),
    (ListFiles("r1"), (FileEntry("h1.log", 5, "ab"),)),
]


@pytest.mark.parametrize(("request_", "answer"), _ANSWERS)
def test_an_answer_comes_out_as_it_went_in(request_: Request[Any], answer: Any) -> None:
    message = decode(encode(success(PLAIN.encode(answer))))
    assert read_answer(request_, message["value"]) == answer


_TEXT = st.text(max_size=10)
_STATUS = st.builds(
    CardStatus, _TEXT, _TEXT, _TEXT, st.none() | _TEXT, _TEXT, st.none() | st.floats(0, 1e9), _TEXT
)  # fmt: skip
_STATE = st.builds(
    AgentState, protocol=st.integers(0, 9), version=_TEXT, pid=st.integers(1), uid=st.integers(1),
    clock=st.floats(0, 1e9), leases=st.just(()), cards=st.lists(_STATUS, max_size=2).map(tuple),
    running=st.lists(_TEXT, max_size=2).map(tuple),
    attached=st.lists(_TEXT, max_size=2).map(tuple),
)  # fmt: skip


@given(_STATE)
def test_what_an_agent_says_of_itself_comes_out_as_it_went_in(state: AgentState) -> None:
    value = json.loads(json.dumps(PLAIN.encode(state)))
    assert read_answer(Hello(), value) == state
    assert read_answer(ListCards(), value["cards"]) == state.cards


def test_what_a_card_knows_nothing_of_is_not_written() -> None:
    assert PLAIN.encode(CardStatus("fpga0", "unknown", "")) == {"card": "fpga0", "state": "unknown", "busy": ""}


def test_a_card_tells_all_that_its_driver_knows() -> None:
    names = [field.name for kind in (CardIdentity, CardState) for field in fields(kind)]
    assert [field.name for field in fields(CardAccount)] == names


def test_every_request_names_an_answer() -> None:
    for kind in Request.__subclasses__():
        request: Request[Any] = kind(**{field.name: "" for field in fields(kind)})
        with suppress(Misfit):
            read_answer(request, None)


def test_an_answer_that_is_none_is_told_with_the_place_of_all_that_is_wrong() -> None:
    told = asdict(_ACCOUNT) | {"ports": "four"}
    del told["status"]
    with pytest.raises(Misfit) as misfit:
        read_answer(ActOnCard("fpga0", "state", "t"), json.loads(json.dumps(told)))
    assert describe_misfit(misfit.value) == (
        "ports is not a whole number: 'four'; allowed: a whole number; status is missing"
    )
