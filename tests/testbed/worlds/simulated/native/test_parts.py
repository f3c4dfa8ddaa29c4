"""Which loop runs a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from testbed.faults import kinds
from testbed.faults.events import FaultStruck
from testbed.faults.kinds import loss
from testbed.faults.model import Loss, Pause, Window
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.native import choose_parts, parts
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.wire import Wire
from tests.support.both_loops import outcome, same
from tests.support.native import needs_native
from tests.support.simulation import of, rack_links, rack_plan
from topologies import LinkShape
from workloads.events import QpStepped
from workloads.native.compiled import compiled_status
from workloads.native.places import NativeStatus

needs_c = needs_native("simulator")


def test_without_the_library_the_reference_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = rack_plan(2, job={"size_bytes": 4000})
    monkeypatch.setattr(parts, "load_core", lambda: None)
    found = choose_parts(plan)
    assert (type(found.agenda), found.wire) == (Agenda, Wire)
    assert outcome(plan, native=True)["records"] == outcome(plan, native=False)["records"]


@dataclass(frozen=True, slots=True)
class NewShape(LinkShape):
    """A link with a property that the compiled loop never heard of."""

    colour: str = "black"


class NewFault(Pause):
    """Nor of this fault."""


class NewPacketFault(Loss):
    """The filters of links tell the loop which packets this may strike, by its rate alone."""


@needs_c
@pytest.mark.parametrize(("kind", "expected"), [(Pause, NativeAgenda), (NewFault, Agenda)])
def test_a_fault_that_the_loop_does_not_know(kind: type[Pause], expected: type[Agenda]) -> None:
    assert type(choose_parts(rack_plan(2, faults=(kind("stop", "h1", Window(0, 1000)),))).agenda) is expected


@needs_c
def test_a_new_kind_of_packet_fault_strikes_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    record = replace(loss.KIND, word="new", value=NewPacketFault, native=0)
    monkeypatch.setitem(kinds._BY_VALUE, NewPacketFault, record)
    fault = NewPacketFault("new", rack_links(2), rate=0.05)
    plan = rack_plan(2, faults=(fault,), job={"size_bytes": 100_000, "message_packets": 8})
    assert type(choose_parts(plan).agenda) is NativeAgenda
    assert {record.event.kind for record in of(same(plan)["records"], FaultStruck)} == {"new"}


@needs_c
def test_what_the_loop_does_not_know_is_for_the_reference() -> None:
    for colour, kind in (("black", NativeAgenda), ("red", Agenda)):
        plan = rack_plan(2)
        links = tuple(replace(link, shape=NewShape(colour=colour)) for link in plan.scenario.topology.links)
        topology = replace(plan.scenario.topology, links=links)
        found = choose_parts(replace(plan, scenario=replace(plan.scenario, topology=topology)))
        assert type(found.agenda) is kind


@needs_c
@pytest.mark.skipif(not compiled_status().available, reason="the other loop is not compiled")
@pytest.mark.parametrize(("trace", "expected"), [(False, NativeAgenda), (True, Agenda)])
def test_a_traced_plan_has_no_machines_for_the_loop(trace: bool, expected: type[Agenda]) -> None:
    scenario = replace(rack_plan(2).scenario, trace=trace)
    assert type(choose_parts(make_plan(scenario)).agenda) is expected


@needs_c
def test_a_traced_plan_runs_in_the_loop_where_the_other_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "compiled_status", lambda: NativeStatus(False, "no"))
    plan = make_plan(replace(rack_plan(2, job={"size_bytes": 20_000}).scenario, trace=True))
    assert type(choose_parts(plan).agenda) is NativeAgenda
    assert of(same(plan)["records"], QpStepped)


@needs_c
def test_the_twin_of_a_dilated_run_has_the_loop() -> None:
    """How fast real time passes is nothing to virtual time."""
    plan = make_plan(load_scenario("rack-lossy", ["dilation=8", "job.size=40kB"]))
    assert type(choose_parts(plan).agenda) is NativeAgenda
