"""Faults on links that end at no node of ours: struck in virtual time by our ports, when emulated by the kernel, to the
same packets."""

from __future__ import annotations

import pytest

from testbed.faults.events import FaultStruck
from testbed.history import Record
from testbed.history.events import TcpFlowMeasured
from testbed.steering.openvswitch import missing_programs
from tests.support.emulated import needs_root
from tests.support.simulation import digests, expected_digests, of
from tests.support.worlds import Ran, run_in
from workloads.wire import Opcode

pytestmark = [*needs_root, pytest.mark.skipif(bool(missing_programs()), reason="needs Open vSwitch")]
SLOW = ["topology.link.rate=15Mbps", "topology.accelerator_link.rate=40Mbps", "job.size=300kB"]


def first_transmissions(history: list[Record]) -> set[tuple[str, str, str, str, int, int]]:
    """Strikes on data that came by for the first time, which it does in both worlds, whatever time does."""
    return {
        (r.event.fault, r.event.target, r.event.direction, r.event.flow, r.event.opcode, r.event.psn)
        for r in of(history, FaultStruck)
        if r.event.occurrence == 1 and r.event.opcode != Opcode.ACKNOWLEDGE
    }


def backends(run: Ran) -> dict[str, str]:
    return {fault["name"]: fault["backend"] for fault in run.document["faults"]}


def test_the_same_packets_are_struck_in_both_worlds(tmp_path, monkeypatch):
    simulated, emulated = (
        run_in(world, "accelerator-openflow-lossy", SLOW, 3, tmp_path, monkeypatch)
        for world in ("simulated", "emulated")
    )
    assert (simulated.not_passed(), emulated.not_passed()) == ({}, {})
    assert digests(emulated.history) == digests(simulated.history)
    struck = first_transmissions(simulated.history)
    assert {fault for fault, *_ in struck} == {"lossy-links", "first-packet", "first-result"}
    assert len(struck) > 10
    assert first_transmissions(emulated.history) == struck
    assert set(backends(simulated).values()) == {"virtual"}
    assert set(backends(emulated).values()) == {"ebpf"}
    assert "lossy-links: eBPF on what h1 sends (h1-s1 up)" in emulated.document["environment"]["faults"]
    assert {record.node for record in of(emulated.history, FaultStruck)} == {"world"}


def test_grid_through_two_open_vswitches(tmp_path, monkeypatch):
    """Datagrams, and a link from one Open vSwitch to the other."""
    overrides = [
        "topology.link.rate=3Mbps",
        "topology.server_link.rate=9Mbps",
        "routing.capacity=9Mbps",
        "job.size=200kB",
    ]
    run = run_in("emulated", "grid-openflow-lossy", overrides, 3, tmp_path, monkeypatch)
    assert run.not_passed() == {}
    assert digests(run.history) == expected_digests(run.context.plan)
    targets = {(record.event.target, record.event.direction) for record in of(run.history, FaultStruck)}
    assert {link for link, _ in targets} == {"w6-s2", "s2-s3", "ps-s3", "w7-s3"}
    assert set(backends(run).values()) == {"ebpf"}


@pytest.mark.minutes
def test_what_a_host_kernel_sends_is_struck(tmp_path, monkeypatch):
    """iperf3's TCP beside the gradients of its host: both lose packets, both arrive. Nothing is lost while TCP begins,
    which would repeat a SYN only after a second."""
    overrides = [
        *SLOW,
        "faults=[{kind: loss, name: torn, links: [h4-s1], rate: 2%, from: 200ms}]",
        "background=[{kind: tcp, name: tenant, from: h4, to: h1}]",
    ]
    run = run_in("emulated", "accelerator-openflow-lossy", overrides, 3, tmp_path, monkeypatch)
    assert run.not_passed() == {}
    struck = of(run.history, FaultStruck)
    assert {(record.event.fault, record.event.backend) for record in struck} == {("torn", "ebpf")}
    assert {bool(record.event.flow) for record in struck} == {True, False}, "RoCE and TCP"
    (flow,) = of(run.history, TcpFlowMeasured)
    assert flow.event.retransmits > 0, flow.event
