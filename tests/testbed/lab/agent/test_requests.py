"""Requests to an agent: as JSON and back, and what is told of one that is none."""

import json
from dataclasses import fields
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.lab.agent import requests
from testbed.lab.agent.protocol import AgentRefused, decode, encode
from testbed.lab.agent.requests import Request, TakeLease, read_request, write_request

KINDS = [getattr(requests, name) for name in requests.__all__ if isinstance(getattr(requests, name), type)]
KINDS.remove(Request)
TEXT = st.text(max_size=10)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT, bool: st.booleans(), int: st.integers(0, 1 << 40), float: st.floats(0, 1e9),
    tuple[int, ...]: st.lists(st.integers(0, 1 << 16), max_size=3).map(tuple),
    tuple[str, ...]: st.lists(TEXT, max_size=3).map(tuple), dict[str, Any]: st.dictionaries(TEXT, st.integers(0, 9)),
}  # fmt: skip


@given(st.sampled_from(KINDS), st.data())
def test_every_request_comes_out_as_it_went_in(kind: Any, data: st.DataObject) -> None:
    hints = get_type_hints(kind)
    request = kind(**{each.name: data.draw(VALUES[hints[each.name]]) for each in fields(kind)})
    assert read_request(decode(encode(write_request(request)))) == request


def test_every_request_has_an_operation_of_its_own() -> None:
    assert len({kind.op for kind in KINDS}) == len(KINDS)


def test_what_may_be_left_out_and_what_a_later_version_adds() -> None:
    message = {"op": "lease", "resource": "host", "owner": "ann", "token": "t", "seconds": 60, "colour": "red"}
    assert read_request(message) == TakeLease("host", "ann", "t", 60.0)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"op": "exec"}', "this agent does not know 'exec'"),
        ('{"op": {}}', "this agent does not know {}"),
        ("{}", "this agent does not know None"),
        ('{"op": "break"}', "not understood: break: resource is missing"),
        ('{"op": "go", "run": 5}', "not understood: go: run is not text: '5'; allowed: text; token is missing"),
        (
            '{"op": "code", "libraries": ["rc_fast", 7]}',
            "not understood: code: libraries.1 is not text: '7'; allowed: text",
        ),
        (
            '{"op": "attach", "device": "d0", "mtu": true, "ports": [4791], "token": "t"}',
            "not understood: attach: mtu is not a whole number: 'True'; allowed: a whole number",
        ),
        (
            f'{{"op": "status", "run": [{"7, " * 30}7]}}',
            f"not understood: status: run is not text: '[7{', 7' * 12}, '; allowed: text",
        ),
    ],
)
def test_what_is_told_of_a_request_that_is_none(line: str, problem: str) -> None:
    with pytest.raises(AgentRefused) as refused:
        read_request(json.loads(line))
    assert refused.value.problem == problem
