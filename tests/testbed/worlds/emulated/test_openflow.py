from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.faults.model import Drop, Kill, LinkDown, Match, PacketFault, Reorder, Window
from testbed.kernel.cleanup import clean, find_leftovers
from testbed.kernel.ledger import known_runs, read_ledger
from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.steering.events import RulesInstalled
from testbed.steering.openvswitch import missing_programs
from testbed.worlds.emulated import EmulatedWorld
from testbed.worlds.emulated.backends import FaultCapabilities
from testbed.worlds.emulated.carrier import carrier_actions
from testbed.worlds.emulated.openflow import refuse_for_openflow
from testbed.worlds.emulated.schedule import Act, Action
from tests.support.emulated import needs_root, processes_of
from tests.support.passing import assert_passes
from workloads.errors import HostCapabilityError

needs_ovs = [*needs_root, pytest.mark.skipif(bool(missing_programs()), reason="needs Open vSwitch")]
OPENFLOW = ["switch.commodity=openflow"]


def refusal(tmp_path: Path, *overrides: str, faults: tuple[PacketFault, ...] = ()) -> str:
    """What a person reads; nothing was made before."""
    scenario = load_scenario("accelerator", ["dilation=1", *OPENFLOW, *overrides], world="emulated")
    plan = make_plan(replace(scenario, faults=faults))
    with pytest.raises(HostCapabilityError) as caught:
        EmulatedWorld().run(plan, tmp_path / "run", lambda record: None)
    assert not list(tmp_path.iterdir())
    return str(caught.value)


def without_netem(monkeypatch: pytest.MonkeyPatch, ebpf: HostCapabilityError | None = None) -> None:
    capabilities = FaultCapabilities(ebpf, HostCapabilityError("the netem qdisc", "load sch_netem"))
    monkeypatch.setattr("testbed.worlds.emulated.world.probe_fault_capabilities", lambda: capabilities)


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("queue_full=trim", "a queue that trims"),
        ("ecn_threshold=5", "a queue that marks"),
        ("priority=layers", "a queue that knows classes"),
        ("drop_low_above=5", "a queue that knows classes"),
    ],
)
def test_open_vswitch_neither_marks_nor_trims_nor_knows_classes(key: str, what: str) -> None:
    plan = make_plan(load_scenario("accelerator", [*OPENFLOW, f"topology.link.{key}"], world="emulated"))
    with pytest.raises(HostCapabilityError, match=f"{what} at an Open vSwitch"):
        refuse_for_openflow(plan)


class TestRefused:
    pytestmark = needs_ovs

    def test_a_fault_between_a_host_and_open_vswitch_that_no_backend_serves(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        without_netem(monkeypatch)
        late = Reorder("late", links=("s1-a1-1", "h1-s1"), rate=0.01, delay_ns=1000)
        assert refusal(tmp_path, faults=(late,)) == (
            "this machine lacks the netem qdisc, needed for fault late on link h1-s1, which ends at no switch of ours; "
            "load sch_netem"
        )
        first = Reorder("first", links=("h1-s1",), delay_ns=1000, match=Match(attempt=1))
        assert refusal(tmp_path, faults=(first,)) == (
            "this machine lacks a backend for fault first on link h1-s1, which ends at no switch of ours: eBPF cannot "
            "hold "
            "a packet back; netem does not know packets by identity; end the link at a switch node of the testbed "
            "(switch.commodity: soft)"
        )

    def test_without_ebpf_also_what_it_would_serve(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        without_netem(monkeypatch, HostCapabilityError("clang", "apt-get install clang"))
        first = Drop("first", links=("h1-s1",), match=Match(attempt=1))
        assert refusal(tmp_path, faults=(first,)) == (
            "this machine lacks clang, needed for fault first on link h1-s1, which ends at no switch of ours; "
            "apt-get install clang"
        )

    def test_a_delay_of_a_link(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        without_netem(monkeypatch)
        assert refusal(tmp_path, "topology.links={h2-s1: {delay: 1ms}}") == (
            "this machine lacks the netem qdisc, needed for the delay of link h2-s1, which ends at no switch of ours; "
            "load sch_netem"
        )


def test_what_takes_the_carrier() -> None:
    topology = load_scenario("accelerator").topology
    cut = LinkDown("cut", links=("h1-s1", "s1-a1-2"), window=Window(5, 7), count=2, period_ns=10)
    half = LinkDown("half", links=("h2-s1",), rate=0.5)
    dead = Kill("dead", "a1", Window(9))
    assert set(carrier_actions([cut, half, dead], topology, {"s1"})) == {
        *(Action(at, act, "cut", link) for link in ("h1-s1", "s1-a1-2") for at, act in
          ((5, Act.CUT), (7, Act.MEND), (15, Act.CUT), (17, Act.MEND))),
        Action(9, Act.CUT, "dead", "s1-a1-1"),
        Action(9, Act.CUT, "dead", "s1-a1-2"),
    }  # fmt: skip
    assert carrier_actions([cut, half, dead], topology, ()) == ()


class TestForReal:
    pytestmark = needs_ovs

    @pytest.mark.minutes
    def test_the_controller_is_killed_and_comes_back(self, tmp_path: Path) -> None:
        """A job of six seconds: on a busy machine a new controller takes three until it has a switch."""
        result = run_scenario(load_scenario("accelerator-openflow", ["job.iterations=25"]), tmp_path / "run")
        assert_passes(result.document)
        told = [record for record in result.history if isinstance(record.event, RulesInstalled)]
        assert [(record.node, record.event.kept, record.event.added, record.event.removed) for record in told] == [
            ("s1", 0, 15, 0),
            ("s1", 15, 0, 0),
        ]

    def test_a_dead_accelerator_port_ends_in_the_fallback(self, tmp_path: Path) -> None:
        result = run_scenario(load_scenario("accelerator-dies", OPENFLOW), tmp_path / "run")
        assert_passes(result.document)
        told = [record for record in result.history if isinstance(record.event, RulesInstalled)]
        assert [(record.event.reason, record.event.fallback) for record in told] == [
            ("connected", False),
            ("port 5 of s1 is down", True),
        ]

    def test_kill_9_leaves_nothing_that_cleanup_does_not_remove(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        state = tmp_path / "state"
        monkeypatch.setenv("INA_STATE_DIR", str(state))
        command = [sys.executable, "-m", "testbed", "run", "accelerator-openflow-lossy"]
        command += ["--set", "dilation=1", "--out", str(tmp_path / "run")]
        log = tmp_path / "run" / "nodes" / "s1.log"
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            deadline = time.monotonic() + 30
            while not log.exists() or not any(state.glob("*/ovs1.mgmt")):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            os.kill(run.pid, signal.SIGKILL)
        [folder] = known_runs()
        entries = read_ledger(folder)[1]
        clean()
        assert find_leftovers(entries) == ()
        assert processes_of(state) == []
        assert not state.exists()
