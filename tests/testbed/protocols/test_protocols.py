"""Every collective is one value, and whoever needs to know something of it finds it there."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module

import pytest

from switch_nodes.kinds import program_kinds
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.scenario.known import collectives, names_where, programs, protocol_of, protocols
from testbed.scenario.named import protocol_names
from testbed.scenario.protocol import Hunt, Protocol
from tests.support.floors import ROOT
from workloads.errors import InternalError
from workloads.lazily import later

NAMES = protocol_names()


def test_every_folder_is_a_collective() -> None:
    found = {path.name for path in (ROOT / "testbed" / "protocols").iterdir() if path.is_dir()}
    found -= {"parts", "__pycache__"}
    assert sorted(found) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_that_is_imported_later_is_there(name: str) -> None:
    protocol = protocol_of(name)
    of_checkers = [function for checker in protocol.checkers for function in (checker.check, checker.skip)]
    functions = [protocol.plan, protocol.order, protocol.blocks, protocol.follow, *of_checkers]
    found = [function for function in functions if getattr(function, "__code__", None) is later("os:getpid").__code__]
    for function in found:
        assert callable(getattr(import_module(function.__module__), function.__name__)), function


@pytest.mark.parametrize("name", NAMES)
def test_a_module_holds_the_value_of_its_name(name: str) -> None:
    protocol = protocol_of(name)
    assert isinstance(protocol, Protocol)
    assert protocol.name == name
    assert collectives[name] == protocol.summary
    assert set(protocol.programs) <= set(programs)
    assert (protocol.order is None) == protocol.traits.approximate
    assert (protocol.blocks is None) == protocol.traits.reliable
    assert set(protocol.traits.server_knobs) <= {knob for kind in program_kinds().values() for knob in kind.knobs}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_hunt_names_is_there(name: str) -> None:
    hunt = protocol_of(name).hunt
    for field in fields(Hunt) if hunt is not None else ():
        value = getattr(hunt, field.name)
        if isinstance(value, str):
            module, _, found = value.partition(":")
            assert hasattr(import_module(module), found), value


@pytest.mark.parametrize(
    "check", [check for protocol in protocols() for check in protocol.checks], ids=lambda check: check.__name__
)
def test_checks_name_sections_that_there_are(check: Callable[..., None]) -> None:
    sections = {"problems", "topology", "link", "switch", "transport", "job", "entries", "routing", "nics"}
    assert set(inspect.signature(check).parameters) <= sections


def test_nobody_is_known_by_another_name() -> None:
    with pytest.raises(InternalError, match="there is no collective 'telepathy'"):
        protocol_of("telepathy")
    with pytest.raises(KeyError):
        collectives["telepathy"]
    assert "telepathy" not in collectives
    assert list(collectives) == list(NAMES)
    assert len(programs) == len(list(programs))
    assert "steer" not in programs


def test_names_by_trait_are_in_the_order_of_the_list() -> None:
    assert names_where(lambda traits: traits.has_server) == ("atp", "esa", "grid", "ps")
    assert names_where(lambda traits: traits.in_messages) == ("netreduce", "shift")


@pytest.mark.parametrize(
    ("scenario", "name"),
    [("rack", "netreduce"), ("ring", "ring"), ("hierarchical", "parallel_netreduce"), ("esa", "esa")],
)
def test_a_scenario_is_planned_by_its_collective(scenario: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_scenario(scenario)
    assert loaded.job.collective == name
    asked = []
    own = protocol_of(name)

    def found(collective: str) -> Protocol:
        asked.append(collective)
        return own

    monkeypatch.setattr("testbed.plan.plan.protocol_of", found)
    assert make_plan(loaded).workers
    assert set(asked) == {name}  # a plan with automatic timers is made twice
