"""Every protocol is one value, and whoever needs to know something of it finds it there."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from switch_nodes.kinds import program_kinds
from testbed.checkers import Checker
from testbed.checkers.contract import judged_protocol
from testbed.hunt.contract import Hunt, Protocol, whole_protocol
from testbed.hunt.schedule import Survival
from testbed.plan import make_plan
from testbed.plan.contract import PlannedProtocol, planned_protocol
from testbed.scenario import load_scenario
from testbed.scenario.checks.contract import scenario_protocol
from testbed.scenario.protocols.known import names_where, programs, protocol_of, summaries
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.names import DTYPES
from testbed.scenario.protocols.protocol import KnownProtocol
from tests.support.floors import ROOT
from workloads.errors import InternalError, ScenarioError

NAMES = protocol_names()


def test_every_folder_is_a_protocol() -> None:
    found = {path.name for path in (ROOT / "testbed" / "protocols").iterdir() if path.is_dir()}
    found -= {"parts", "__pycache__"}
    assert sorted(found) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_holds_the_value_of_its_name(name: str) -> None:
    protocol = whole_protocol(name)
    assert protocol.name == name
    assert summaries[name] == protocol.summary
    assert set(protocol.programs) <= set(programs)
    assert (type(protocol).order is Protocol.order) != protocol.result().is_exact
    assert (type(protocol).blocks is Protocol.blocks) == protocol.repairs_losses()
    assert (type(protocol).worker_problems is Protocol.worker_problems) == (protocol.worker is None)
    assert protocol.shortfall() is None
    assert set(protocol.server_knobs()) <= {knob for kind in program_kinds().values() for knob in kind.knobs}


@pytest.mark.parametrize("name", NAMES)
def test_its_checkers_and_its_hunt_are_there(name: str) -> None:
    protocol = whole_protocol(name)
    assert all(isinstance(checker, Checker) for checker in protocol.checkers())
    hunt = protocol.hunt()
    if hunt is not None:
        assert isinstance(hunt, Hunt)
        assert isinstance(hunt.survival(), Survival)
        assert set(hunt.dtypes) <= set(DTYPES)


def test_every_method_of_the_contract_has_types() -> None:
    """For derived classes, mypy reports it."""
    for kind in (Protocol, Hunt):
        for method, function in inspect.getmembers(kind, inspect.isfunction):
            if not method.startswith("__"):
                missing = set(inspect.signature(function).parameters) - {"self"} - set(function.__annotations__)
                assert not missing, f"{kind.__name__}.{method}"
                assert "return" in function.__annotations__, f"{kind.__name__}.{method}"


class Half(KnownProtocol):
    """Of a user who derived from the wrong class."""


def test_a_class_without_the_methods_of_a_floor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    half = Half(name="half", summary="half")
    for ask in (scenario_protocol, planned_protocol, judged_protocol, whole_protocol):
        monkeypatch.setattr(f"{ask.__module__}.protocol_of", lambda name: half)
        with pytest.raises(ScenarioError, match=r"protocol half lacks methods; found Half; allowed: a class that der"):
            ask("half")


def test_nobody_is_known_by_another_name() -> None:
    with pytest.raises(InternalError, match="there is no protocol 'telepathy'"):
        protocol_of("telepathy")
    with pytest.raises(KeyError):
        summaries["telepathy"]
    assert "telepathy" not in summaries
    assert list(summaries) == list(NAMES)
    assert len(programs) == len(list(programs))
    assert "steer" not in programs


@pytest.mark.parametrize(
    ("holds", "names"),
    [
        (lambda protocol: protocol.server_completes(), "atp grid ps"),
        (lambda protocol: protocol.server_knobs(), "esa"),
        (lambda protocol: protocol.answers_at_once() or protocol.one_size(), "dlcp"),
        (lambda protocol: protocol.needs(), "flows grid parallel_netreduce staged tencent trace_file"),
        (lambda protocol: protocol.why_no_clamping(), ("binomial_tree mesh pairwise parallel_netreduce rabenseifner "
            "recursive_doubling ring sharded_ps staged tencent trace_file")),
        (lambda protocol: protocol.checkers(), "dlcp flows repair"),
        (lambda protocol: protocol.piece_judge(), "dlcp"),
        (lambda protocol: protocol.record_share() < 0.5, "netreduce ring shift staged"),
        (lambda protocol: protocol.hunt() is None, (
            "flows netreduce parallel_netreduce shift staged tencent trace_file")),
    ],
)  # fmt: skip
def test_only_these_answer_otherwise_than_most(holds: Callable[[Protocol], object], names: str) -> None:
    assert [name for name in NAMES if holds(whole_protocol(name))] == [name for name in names.split() if name in NAMES]


@pytest.mark.protocols("all")
def test_names_by_answer_are_in_the_order_of_the_list() -> None:
    assert names_where(lambda each: each.servers()) == ("atp", "esa", "grid", "ps")
    assert names_where(lambda each: each.message_window(1, 1) is not None) == ("netreduce", "shift")


@pytest.mark.parametrize(
    ("scenario", "name"),
    [("rack", "netreduce"), ("ring", "ring"), ("hierarchical", "parallel_netreduce"), ("esa", "esa")],
)
def test_a_scenario_is_planned_by_its_protocol(scenario: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_scenario(scenario)
    assert loaded.job.protocol == name
    asked = []
    own = planned_protocol(name)

    def found(name: str) -> PlannedProtocol:
        asked.append(name)
        return own

    monkeypatch.setattr("testbed.plan.plan.planned_protocol", found)
    assert make_plan(loaded).workers
    assert set(asked) == {name}  # a plan with automatic timers is made twice
