"""What iperf3 writes becomes a fact; other tenants share a real link with a job (root)."""

import os
import shutil

import pytest

from switch_nodes.events import QueueMarks
from testbed.history.events import QueueDropped, TcpFlowMeasured
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.worlds.emulated.marking import make_marking
from testbed.worlds.emulated.tenants import measured
from tests.support.roce_frames import request
from workloads.machine import FrameBatch

CLIENT = {
    "intervals": [],
    "end": {"sum_sent": {"seconds": 2.26, "bytes": 5_767_168, "retransmits": 3}, "sum_received": {"bytes": 0}},
    "error": "interrupt - the client has terminated",
}
SERVER = {"end": {"sum_received": {"seconds": 2.0, "bytes": 5_700_000}}, "error": "the client has terminated"}


def test_the_receiver_counts_and_the_sender_keeps_the_time():
    assert measured("bulk", 5, CLIENT, SERVER) == TcpFlowMeasured("bulk", 5_700_000, 5_767_168, 3, 5, 2_260_000_000, "")


def test_what_went_wrong_is_told():
    found = measured("bulk", 5, {"error": "unable to connect to server: Connection refused"}, {"end": {}})
    assert found.trouble == "client: unable to connect to server: Connection refused"
    assert (found.bytes, found.duration_ns) == (0, 0)


@pytest.mark.parametrize("end", [{}, {"sum_sent": {}}, {"sum_sent": {"seconds": 0, "bytes": 0, "retransmits": 0}}])
def test_a_client_that_is_ended_before_it_begins_is_told(end):
    """`iperf3` then writes no sums, or sums of nothing, and calls only its own end an error."""
    found = measured("bulk", 5, CLIENT | {"end": end}, SERVER | {"end": {}})
    assert found.trouble == "client: ended before it had sent anything"


def test_ports_that_mark_know_all_rates_of_the_run():
    scenario = load_scenario(
        "congested", ["dilation=1", "faults=[{kind: rate_change, links: h2-s1, rate: 10Mbps, from: 1s, until: 2s}]"]
    )
    marking = make_marking(scenario, "s1", never, exact=False)
    port = next(port for port, link, _ in scenario.topology.ports("s1") if link.name == "h2-s1")
    queue = marking._queues[port]
    assert queue._rate_bps == 50_000_000
    assert [(at, rate) for at, rate, _ in queue._rates] == [(10**9, 10_000_000), (2 * 10**9, 50_000_000)]
    assert len(marking._queues) == 5
    assert make_marking(load_scenario("rack", ["dilation=1"]), "s1", never, exact=False) is None


def test_what_queues_with_classes_refuse_is_told_with_its_link_and_who_it_was():
    scenario = load_scenario("priority", ["dilation=1", "topology.link.queue=2", "topology.link.drop_low_above=1"])
    told = []
    marking = make_marking(scenario, "s1", lambda now, event: told.append((now, event)), exact=False)
    port = next(port for port, link, _ in scenario.topology.ports("s1") if link.name == "h2-s1")
    batch = FrameBatch.of(80, 1600)
    for number in range(80):
        batch.append(port, request(number, tos=15 << 2) + bytes(1400))
    marking.apply(batch, 7)
    (now, event), *rest = told
    assert now == 7
    assert event == QueueDropped("h2-s1", "down", True, 15, 1, event.flow, 1, event.psn)
    assert event.flow.count(">") == 1
    assert [other.psn for _, other in rest] == list(range(event.psn + 1, 80))
    assert batch.count == 80 - len(told)


def never(now, event):
    raise AssertionError(event)


@pytest.mark.programs
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("name", ["congested", "congested-tcp"])
def test_a_job_beside_another_tenant(name, tmp_path):
    if name == "congested-tcp" and shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    result = run_scenario(load_scenario(name, world="emulated"), tmp_path / "run")
    document = result.document
    checks = {check["name"]: check for check in document["checks"]}
    # Where the machine is too busy for TCP to fill the queue, nothing is marked, and the check says so.
    idle = "congestion control was not exercised: nothing marked a packet"
    if name == "congested-tcp" and checks["congestion"]["detail"] == idle:
        pytest.skip("this machine was too busy to fill a queue")
    assert document["verdict"] == "pass", [check for check in checks.values() if check["verdict"] != "pass"]
    assert checks["congestion"]["verdict"] == "pass"
    (flow,) = document["metrics"]["background"]
    if name == "congested-tcp" and flow["bytes"] == 0:
        pytest.skip("this machine was too busy for iperf3 to say what it sent")
    assert flow["bytes"] > 100_000
    assert flow["trouble"] == ""
    marks = [record.event.marks for record in result.history if isinstance(record.event, QueueMarks)]
    assert document["metrics"]["congestion"]["ce_marks"] == sum(marks) > 0


@pytest.mark.parametrize(("exact", "waiting"), [(False, 1), (True, 3)])
def test_where_ports_are_exact_no_burst_passes_by_the_queue(exact, waiting):
    """A burst of two full frames, beside the frame on the wire; the simulated wire has none."""
    scenario = load_scenario("incast-trimmed", ["dilation=100"])
    port = next(port for port, link, _ in scenario.topology.ports("leaf1") if link.name == "leaf1-spine1")
    marking = make_marking(scenario, "leaf1", never, exact=exact)
    batch = FrameBatch.of(4, 1600)
    for _ in range(4):
        batch.append(port, bytes(1514))
    marking.apply(batch, 0)
    (found,) = [event for event in marking.events() if event.port == port]
    assert found.peak_waiting == waiting
