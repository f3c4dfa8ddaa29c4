"""Real packets and virtual time: layer classes are served strictly, the low class is dropped early and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.captures.pcapng import read_capture
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from workloads.wire.dscp import is_low, read_dscp

WORLDS = ["simulated", pytest.param("emulated", marks=needs_root)]
_EARLY = "dropped: early"


@pytest.mark.parametrize("world", WORLDS)
def test_only_the_low_class_is_dropped_and_the_job_loses_nothing(world: str, tmp_path: Path) -> None:
    scenario = load_scenario("priority", world=world)
    document = run_scenario(scenario, tmp_path / "run", pcap=True).document
    assert_passes(document)
    queues, figures = document["metrics"]["queues"], document["metrics"]
    early = queues["early"]
    assert early > 100
    assert (queues["dropped"], queues["by_dscp"]) == (0, {"h2-s1 down": {"15": {"early": early, "full": 0}}})
    assert figures["retransmissions"]["packets"] == 0
    lost = [
        frame.frame
        for path in (tmp_path / "run" / "pcap").rglob("*.pcapng")
        for frame in read_capture(path, [])
        if frame.comment == _EARLY
    ]
    assert len(lost) == early
    assert all(is_low(read_dscp(frame)) for frame in lost)


@pytest.mark.parametrize("world", WORLDS)
def test_a_better_class_gets_the_line(world: str, tmp_path: Path) -> None:
    """Three tenants send 60 % of a link each; it has room for the best, two thirds of the next and nothing of the
    last."""
    flows = ", ".join(
        f"{{kind: udp, name: c{layer}, from: h{4 + at}, to: h2, rate: 12Mbps, dscp: {8 + 2 * layer}}}"
        for at, layer in enumerate((3, 1, 0))
    )
    changes = [
        "topology.hosts=6", "topology.link.rate=20Mbps", "topology.link.drop_low_above=none", "job.hosts=[h1, h3]",
        "job.protocol=ring", "switch.program=forward", "job.size=1MB", f"background=[{flows}]",
    ]  # fmt: skip
    document = run_scenario(load_scenario("priority", changes, world=world), tmp_path / "run").document
    assert_passes(document)
    flow_of = {flow["name"]: flow for flow in document["metrics"]["background"]}
    came = {name: flow["bytes"] // 1000 for name, flow in flow_of.items()}
    sent = {name: came[name] + flow["missing_packets"] for name, flow in flow_of.items()}
    assert min(sent.values()) > 400
    assert came["c0"] > 0.97 * sent["c0"]
    assert 0.55 < came["c1"] / sent["c1"] < 0.75
    assert came["c3"] < 0.05 * sent["c3"]
    assert set(document["metrics"]["queues"]["by_dscp"].get("h2-s1 down", {})) <= {"14", "10"}
