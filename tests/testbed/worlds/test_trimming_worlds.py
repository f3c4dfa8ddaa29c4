"""Real packets and virtual time: full queues trim, the sums are right, and no timer has to run out for what was cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.captures.pcapng import read_capture
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds

_TRIMMED = "trimmed: queue"


@pytest.mark.parametrize(("recovery", "world"), in_both_worlds(["gbn", "irn"], emulated=["irn"]))
def test_full_queues_trim(recovery: str, world: str, tmp_path: Path) -> None:
    changes = ["job.size=100kB", f"transport.recovery={recovery}", "topology.uplink.rate=20Mbps"]
    result = run_scenario(load_scenario("spine-leaf-trimmed", changes, world=world), tmp_path / "run", pcap=True)
    document = result.document
    assert_passes(document)
    assert document["metrics"]["queues"]["trimmed"] > 0
    cut = [
        frame
        for path in (tmp_path / "run" / "pcap").rglob("*.pcapng")
        for frame in read_capture(path, [])
        if frame.comment == _TRIMMED
    ]
    assert cut
    assert max(len(frame.frame) for frame in cut) <= 78, "headers alone: docs/trimming.md"
