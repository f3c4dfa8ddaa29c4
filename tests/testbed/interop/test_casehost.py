"""One case on the host: a guest that only answers, and rings whose ranks are our own endpoints."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from testbed.history.events import TimeLimitReached
from testbed.history.verdict import Verdict
from testbed.interop.boot import BootedGuest
from testbed.interop.casehost import run_case, true_plan
from testbed.interop.cases import Case
from testbed.interop.judging import judge_case
from testbed.interop.protocol import CaseRequest, CaseResult, DeviceFacts, GuestFacts, Opened, QpNames
from testbed.interop.wires import Wires
from testbed.kernel.ledger import Ledger
from tests.support.simulation import rack_plan
from workloads.errors import InternalError

SMALL = {"size": 20_000}
SOFT = Case("mixed/all-soft", hosts=2, soft=(0, 1), job=SMALL)


class Guest:
    """A mailbox whose other side answers at once. It has no ranks."""

    def __init__(self):
        self.files, self.opened, self.result, self.finishes = {}, Opened(""), CaseResult(""), True

    def put(self, case, what, value):
        self.files[what] = value
        if what == "open":
            self.files["opened"] = self.opened
        if what == "start" and self.finishes:
            self.files["done"] = {}
        if what == "cancel":
            self.files["result"] = self.result

    def has(self, case, what):
        return self.files.get(what) is not None

    def take(self, case, what, kind):
        value = self.files.get(what)
        assert value is None or isinstance(value, kind)
        return value


@pytest.fixture
def booted(tmp_path, monkeypatch):
    monkeypatch.setenv("INA_STATE_DIR", str(tmp_path / "state"))
    ledger = Ledger.create("interop-test", tmp_path)
    wires = Wires([tmp_path / f"{n}.sw" for n in range(2)])
    machine = SimpleNamespace(
        running=True, evidence=lambda: "evidence", wait_for=lambda arrived, limit, what: arrived()
    )
    devices = tuple(DeviceFacts(f"rxe{n}", f"eth{n}", bytes(6), bytes(4), 1) for n in range(2))
    yield BootedGuest(machine, wires, Guest(), GuestFacts(devices, {}), ledger, 1.0)
    wires.close()
    ledger.close()


def test_a_ring_of_our_own_endpoints_passes_and_is_captured(booted, tmp_path):
    run = run_case(booted, 1, SOFT, 3, tmp_path)
    assert run.error == ""
    assert judge_case(run).verdict is Verdict.PASS, judge_case(run).detail
    assert run.captures == (tmp_path / "s1.pcapng",)
    assert judge_case(run).traffic.data_packets > 40
    assert {record.node for record in run.history} == {"world", "h1", "h2", "s1"}


def test_faults_strike_by_the_true_numbers(booted, tmp_path):
    drop = {"kind": "drop", "links": ["h2-s1"], "direction": "up", "match": {"opcode": "data", "message": 1,
        "packet": 2, "attempt": 1}}  # fmt: skip
    outcome = judge_case(run_case(booted, 1, dataclasses.replace(SOFT, faults=(drop,)), 3, tmp_path))
    assert (outcome.verdict, outcome.strikes) == (Verdict.PASS, 1)
    assert outcome.traffic.retransmissions > 0


def test_a_wrong_switch_is_put_in_its_place(booted, tmp_path):
    case = dataclasses.replace(SOFT, control="plain-switch", must_fail="bit_exact", limit="5s")
    outcome = judge_case(run_case(booted, 1, case, 3, tmp_path))
    assert (outcome.verdict, outcome.detail[:17]) == (Verdict.PASS, "fails as it must:")


def test_a_guest_that_cannot_open_is_no_run(booted, tmp_path):
    booted.mailbox.opened = Opened("HostCapabilityError: no rxe1")
    run = run_case(booted, 1, SOFT, 3, tmp_path)
    assert (run.error, run.history) == ("HostCapabilityError: no rxe1", [])
    assert "start" not in booted.mailbox.files


def test_ranks_that_do_not_end_are_cancelled_and_named(booted, tmp_path):
    """The guest has rank 1 and never says a word."""
    booted.mailbox.opened = Opened("", (QpNames(17, 18, 2**30, 5),))
    booted.mailbox.finishes = False
    case = Case("mixed/half", hosts=2, soft=(0,), job=SMALL, limit="300ms")
    run = run_case(booted, 1, case, 3, tmp_path)
    (late,) = [record for record in run.history if isinstance(record.event, TimeLimitReached)]
    assert late.event.unfinished == ("h1", "h2")
    assert "cancel" in booted.mailbox.files
    asked = booted.mailbox.files["start"]
    assert isinstance(asked, CaseRequest)
    assert [(worker.device, worker.config.name) for worker in asked.workers] == [("rxe1", "h2")]
    assert asked.options["linger"] is True
    assert asked.workers[0].config.to_successor.qpn == 17  # the device's number, not the planned one


def test_a_guest_that_gives_no_result_is_an_error_of_ours(booted, tmp_path):
    booted.mailbox.result = None
    booted.machine.running = False
    with pytest.raises(InternalError, match="case mixed/all-soft: the guest gave no result\nevidence"):
        run_case(booted, 1, SOFT, 3, tmp_path)


def test_a_plan_gets_the_numbers_that_devices_chose():
    plan = rack_plan(3)
    true = true_plan(plan, {1: QpNames(0x11, 0x12, 2**40, 0x77)})
    assert true.workers[1].to_successor.qpn == 0x11
    assert true.workers[1].from_predecessor.qpn == 0x12
    assert true.workers[0].to_successor.peer_qpn == 0x12
    assert true.workers[2].from_predecessor.peer_qpn == 0x11
    assert true.workers[2].to_successor.qpn == plan.workers[2].to_successor.qpn
    assert {connection.requests[2] for connection in true.connections} >= {0x12}
