from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers.context import CheckContext
from testbed.faults.events import FaultStruck
from testbed.faults.model import Corrupt, LinkDown, Loss
from testbed.figures.metrics import bound_bps, fault_table, metrics
from testbed.history import sort_history
from testbed.history.events import TrafficStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import make_plan
from testbed.plan.paths import data_flows
from testbed.scenario import load_scenario
from testbed.worlds.simulated import simulate
from tests.support.judged import altered, good_context, without
from tests.support.records import a_record
from topologies import Cable, LinkShape, assemble, format_ip, host, machines, spine_leaf, switch
from workloads.events import CollectiveCompleted, CollectiveStarted


def struck(context, rank, psn, *, fault="loss-1", kind="loss", opcode=7, answers=False):
    queue_pair = context.plan.workers[rank].to_successor
    if answers:
        queue_pair = context.plan.workers[rank].from_predecessor
    there, back = format_ip(queue_pair.envelope.src_ip), format_ip(queue_pair.envelope.dst_ip)
    return a_record(9, "s1", "FaultStruck", fault=fault, kind=kind, backend="user", target=f"h{rank + 1}-s1",
        direction="up", flow=f"{there}>{back}:{queue_pair.peer_qpn}", opcode=opcode, psn=psn, occurrence=1)  # fmt: skip


def test_times_and_goodput():
    context = good_context()
    values = metrics(context)
    starts = [r.t for r in context.history if isinstance(r.event, CollectiveStarted)]
    ends = [r.event.completed_ns for r in context.history if isinstance(r.event, CollectiveCompleted)]
    first, second = (ends[2] - starts[0]) / 1e9, (ends[5] - starts[3]) / 1e9
    assert values["iterations_s"] == [first, second]
    assert values["goodput_bps"] == pytest.approx(2 * 1152 * 8 / (first + second))
    traffic = next(r.t for r in context.history if isinstance(r.event, TrafficStarted))
    whole = max(r.event.completed_ns for r in context.history if isinstance(r.event, CollectiveCompleted))
    assert values["jct_s"] == pytest.approx((whole - traffic) / 1e9)
    assert (values["peak_slots"], values["gradient_bytes"], values["unreliable"]) == (6, 1152, None)


def test_bound_follows_from_framing():
    """256 of 314 bytes at 100 Mbit/s; a ring sends every gradient 2 (P-1)/P times, at P = 3 four thirds."""
    assert bound_bps(good_context()) == pytest.approx(100e6 * 256 / 314)
    ring = good_context(protocol="ring", program="forward")
    assert bound_bps(ring) == pytest.approx(100e6 * 256 / 314 * 3 / 4)


def test_bound_of_a_fabric_is_that_of_the_scarcest_link_on_the_way():
    """Uplinks of a quarter of the rate, one connection each; a link that no data takes bounds nothing."""
    shape = LinkShape()
    slow, idle = replace(shape, rate_bps=25_000_000), replace(shape, rate_bps=1)
    plan = good_context(protocol="ring", program="forward").plan

    def bound(*args):
        return bound_bps(CheckContext(make_plan(replace(plan.scenario, topology=spine_leaf(*args))), ()))

    assert bound([2, 1], 1, shape, slow) == pytest.approx(25e6 * 256 / 314 * 3 / 4)
    context = CheckContext(make_plan(replace(plan.scenario, topology=spine_leaf([2, 1], 3, shape, slow))), ())
    used = {link for link, _ in data_flows(context.plan)}
    unused = {f"leaf{leaf}-spine{spine}": idle for leaf in (1, 2) for spine in (1, 2, 3)}
    unused = {link: shape for link, shape in unused.items() if link not in used}
    assert unused
    assert bound([2, 1], 3, shape, slow, unused) == pytest.approx(25e6 * 256 / 314 * 3 / 4)


def test_connections_that_share_a_link_share_its_rate():
    """Ranks alternate between two switches, so that two connections go each way between them."""
    shape = LinkShape()
    nodes = [*(host(number) for number in (1, 2, 3, 4)), switch("s1"), switch("s2")]
    cables = [Cable(f"h{number}", f"s{2 - number % 2}", shape) for number in (1, 2, 3, 4)] + [Cable("s1", "s2", shape)]
    plan = good_context(protocol="shift", program="forward").plan
    context = CheckContext(make_plan(replace(plan.scenario, topology=assemble("custom", nodes, cables))), ())
    assert bound_bps(context) == pytest.approx(100e6 / 2 * 256 / 314)


def test_duration_ends_with_the_job_and_not_with_the_wait_before_a_worker_ends():
    """A worker takes the digest of its last result 100 ms after that was there, and then ends."""
    plan = make_plan(load_scenario("rack", ["job.size=20kB", "job.iterations=1"]))
    context = CheckContext(plan, sort_history(simulate(plan)))
    values = metrics(context)
    assert values["duration_s"] == values["jct_s"] < 0.01
    assert max(record.t for record in context.history) > 100_000_000
    stalled = metrics(replace(context, history=without(context.history, "WorkerFinished")))
    assert stalled["duration_s"] > 0.1, "no end of the job: until the last event"


def test_unfinished_run_has_no_figures():
    context = good_context()
    history = without(
        without(context.history, "WorkerFinished", node="h1"), "CollectiveCompleted", node="h1", iteration=1
    )
    values = metrics(CheckContext(context.plan, history))
    assert (values["jct_s"], values["goodput_bps"], values["iterations_s"][1]) == (None, None, None)
    assert metrics(CheckContext(context.plan, []))["retransmissions"]["packets"] is None


def test_figures_of_a_machine_that_did_not_keep_up_are_set_apart():
    context = good_context()
    slow = CheckResult("fidelity", Verdict.UNKNOWN, "the machine had too little CPU time: h1")
    values = metrics(context, slow)
    assert (values["jct_s"], values["iterations_s"], values["goodput_bps"]) == (None, None, None)
    assert values["unreliable"]["reason"] == slow.detail
    assert values["unreliable"]["jct_s"] == metrics(context)["jct_s"]
    assert values["peak_slots"] == 6
    known = metrics(context)
    assert values["algbw_bps"] is values["busbw_bps"] is None
    assert values["unreliable"]["busbw_bps"] == known["busbw_bps"] == pytest.approx(known["goodput_bps"] * 4 / 3)
    for group in ("iteration_times", "message_times", "jct"):
        assert set(values[group].values()) == {None}
    assert known["iteration_times"]["p50_s"] > 0


def test_lost_and_recovered():
    context = good_context(Loss("loss-1"), Corrupt("corrupt-1", repair_icrc=True), LinkDown("down-1"))
    history = [
        *without(context.history, "WorkerFinished", node="h3"),
        struck(context, 0, 5),
        struck(context, 0, 5),
        struck(context, 0, 6, kind="link_down", fault="down-1"),
        struck(context, 1, 5),
        struck(context, 1, 3, opcode=0x11, answers=True),
        struck(context, 0, 0, opcode=-1),
        struck(context, 0, 9, kind="corrupt", fault="corrupt-1"),
        struck(context, 0, 9, kind="delay"),
    ]
    values = metrics(CheckContext(context.plan, history))
    assert values["lost"] == {"data": 4, "results": 0, "answers": 1, "other": 1}
    # 5 and 6 on the way to h2, which finished; that to h3, which did not, is not recovered
    assert (values["lost_data_packets"], values["recovered_packets"]) == (3, 2)


def test_counts():
    context = good_context()

    def tell(event, **fields):
        return a_record(9, "h1", event, **fields)

    history = [
        *altered(context.history, "RcStatistics", {"packets_retransmitted": 4}, node="h2"),
        tell("Retransmission", qpn=1, cause="nak", psn=1, packets=3),
        tell("Retransmission", qpn=1, cause="timeout", psn=1, packets=3),
        tell("Retransmission", qpn=1, cause="nak", psn=2, packets=3),
        tell("NakSent", qpn=1, syndrome=0x60, psn=1),
        tell("RnrNakSent", qpn=1, psn=1),
        tell("FrameRejected", reason="icrc", detail=""),
        tell("ResultReplayed", ring_id=1, rank=0, message=1, offset=0),
        tell("MessageInferred", ring_id=1, rank=0, message=1, offset=1),
        tell("PacketIgnored", ring_id=1, rank=0, message=1, offset=1, reason="duplicate"),
        tell("PacketIgnored", ring_id=1, rank=0, message=1, offset=1, reason="duplicate"),
        tell("TrainingProgress", iteration=0, loss=2.0, accuracy=0.1),
        tell("TrainingProgress", iteration=1, loss=1.0, accuracy=0.5),
    ]
    values = metrics(CheckContext(context.plan, history))
    assert values["retransmissions"] == {
        "packets": 4,
        "of_packets_sent": 33,
        "share": 4 / 33,
        "spurious": 2,
        "by_cause": {"nak": 2, "timeout": 1},
    }
    assert (values["naks"], values["timeouts"], values["rnr_naks"]) == (1, 1, 1)
    assert (values["replayed_results"], values["inferred_messages"]) == (1, 1)
    assert values["ignored_packets"] == {"duplicate": 2}
    assert values["rejected_frames"] == {"icrc": 1}
    assert values["training"] == {"iteration": 1, "loss": 1.0, "accuracy": 0.5}


def test_fault_table_lists_idle_faults_too():
    context = good_context(Loss("loss-1"), LinkDown("flap"))
    history = [*context.history, struck(context, 0, 1), struck(context, 0, 2), struck(context, 1, 2)]
    by_chance = a_record(0, "world", "FaultByChance", fault="flap", link="h1-s1", direction="up")
    (_, idle) = fault_table(CheckContext(context.plan, [*history, by_chance]))
    assert (idle["strikes"], idle["backend"]) == (0, "netem")
    at = history[-1].t / 1e9
    always = {"rate": 1.0, "silent": False, "active_s": []}
    assert fault_table(CheckContext(context.plan, history)) == [
        {
            "name": "loss-1", "kind": "loss", "strikes": 3, "backend": "user", "targets": {"h1-s1": 2, "h2-s1": 1},
            "struck_s": [at, at], **always,
        },
        {"name": "flap", "kind": "link_down", "strikes": 0, "backend": "", "targets": {}, "struck_s": None, **always},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "each", "share"),
    [
        # 2 (n-1)/n M at 200, M at 50 Mbit/s; n = 2
        ("parallel_netreduce", 2, 1 / (1 / 200 + 1 / 50)),
        # 2 M at 200, 2 (P-n)/P M at 50; P = 6
        ("tencent", 2, 1 / (2 / 200 + 4 / 3 / 50)),
        ("parallel_netreduce", 1, 50),
        # nobody inside a machine to reduce with: a ring of three
        ("tencent", 1, 50 * 3 / 4),
    ],
)
def test_the_bound_of_phases_is_the_closed_form(protocol, each, share):
    shape = LinkShape(rate_bps=200_000_000)
    uplink = replace(shape, rate_bps=50_000_000)
    plan = good_context(protocol="ring", program="forward").plan
    job = replace(plan.scenario.job, protocol=protocol)
    scenario = replace(plan.scenario, topology=machines(3, each, shape, uplink), job=job)
    assert bound_bps(CheckContext(make_plan(scenario), ())) == pytest.approx(share * 1e6 * 256 / 314)


@pytest.mark.parametrize(("name", "kinds"), [("switchml-lossy", {"data", "results"}),
    ("atp-lossy", {"data", "results"}),
                                             ("esa-lossy", {"data", "results"}), ("grid-lossy", {"data", "results"}),
                                             ("switchml-uc-lossy", {"data", "results"})])  # fmt: skip
def test_lost_datagrams_are_counted_by_what_they_carried(name, kinds):
    plan = make_plan(load_scenario(name, world="simulated"))
    context = CheckContext(plan, simulate(plan))
    lost = metrics(context)["lost"]
    assert {kind for kind, count in lost.items() if count} - {"answers"} == kinds
    gone = [r for r in context.events(FaultStruck) if r.event.kind in ("loss", "burst", "drop", "link_down", "corrupt")]
    assert sum(lost.values()) == len(gone)
    if name == "switchml-lossy":
        up = sum(record.event.direction == "up" for record in gone)
        assert (lost["data"], lost["results"]) == (up, len(gone) - up), "hosts send data, the switch sends results"


def test_a_lost_acknowledgement_of_a_repair_is_an_answer():
    plan = make_plan(load_scenario("repair-ack-lost", world="simulated"))
    context = CheckContext(plan, simulate(plan))
    lost = metrics(context)["lost"]
    assert lost["answers"] == sum(lost.values()) == len(context.events(FaultStruck)) > 0
