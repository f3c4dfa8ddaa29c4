from __future__ import annotations

from testbed.bench.peers.cases import RATE_BPS, PeerBenchCase
from testbed.bench.peers.ours import our_scenario
from testbed.faults.model import Loss


def test_ours_runs_on_the_same_links_at_the_same_loss() -> None:
    made = our_scenario("netreduce-irn", PeerBenchCase(8, 1_000_000, 0.01), 3, 7)
    assert (made.job.protocol, made.transport.recovery, made.seed, made.dilation) == ("netreduce", "irn", 3, 7)
    assert {link.shape.rate_bps for link in made.topology.links} == {RATE_BPS}
    [fault] = made.faults
    assert isinstance(fault, Loss)
    assert fault.rate == 0.01
    assert sorted(fault.links) == sorted(link.name for link in made.topology.links)
    clean = our_scenario("ring", PeerBenchCase(8, 1_000_000, 0.0), 1, None)
    assert (clean.job.protocol, clean.transport.recovery, clean.faults, clean.dilation) == ("ring", "gbn", (), None)
    assert clean.topology == made.topology
