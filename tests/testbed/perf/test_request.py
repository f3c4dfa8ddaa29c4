"""Which runs `tb perf` makes."""

from __future__ import annotations

import pytest

from testbed.perf.request import PerfRequest, resolved, sweep_of
from testbed.scenario.protocols.known import names_where
from testbed.sweeps.scenario_points import make_points
from workloads.errors import ScenarioError

NEAR = "did you mean 'all_reduce'?"
MTU = ("topology.link.mtu=9000", "transport.path_mtu=4096")


def points(request):
    """By label: the scenario of each run."""
    request, scenario = resolved(request)
    made = make_points(sweep_of(request, scenario))
    assert not [point.problem for point in made if point.problem]
    return {point.values["variant"]: point.text for point in made}


def test_a_run_for_each_protocol_size_and_half():
    found = points(PerfRequest("rack", (1024, 4096), protocols=("netreduce", "rabenseifner"), world="simulated"))
    assert sorted(found) == [
        "netreduce 1024", "netreduce 1024 in place", "netreduce 4096", "netreduce 4096 in place",
        "rabenseifner 1024", "rabenseifner 4096",
    ]  # fmt: skip
    assert next(iter(found)).split()[1] == "4096", "the longest come first"
    assert "in_place: true" in found["netreduce 1024 in place"]
    assert "in_place: true" not in found["netreduce 1024"]
    assert "capture: false" in found["netreduce 1024"]


def test_packets_are_as_large_as_the_protocol_allows():
    found = points(PerfRequest("rack", (1024,), protocols=("ring", "switchml"), world="simulated", overrides=MTU))
    assert "path_mtu: 4096" in found["ring 1024"]
    assert "path_mtu: 1024" in found["switchml 1024"]


@pytest.mark.protocols("switchml")
def test_other_collectives_run_over_all_that_can_out_of_place():
    assert set(points(PerfRequest("rack", (1024,), collective="all_to_all", world="simulated"))) == {"pairwise 1024"}
    found = points(PerfRequest("rack", (1024,), collective="broadcast", root=2, op="max", world="simulated"))
    assert set(found) == {"netreduce 1024"}
    for line in ("operation: broadcast", "root: 2", "op: sum"):
        assert line in found["netreduce 1024"]
    found = points(PerfRequest("ring", (1024,), collective="broadcast", world="simulated"))
    assert {"binomial_tree 1024", "netreduce 1024", "switchml 1024"} <= set(found)


def test_types_operators_and_seed_reach_the_runs():
    found = points(
        PerfRequest("rack", (1024,), dtype="int32", op="max", world="simulated", seed=7, iterations=3, warmup=2)
    )
    assert set(found) == {"netreduce 1024", "netreduce 1024 in place"}
    for line in ("dtype: int32", "op: max", "iterations: 5", "seed: 7"):
        assert line in found["netreduce 1024"]


@pytest.mark.parametrize(
    ("asked", "size", "world", "counts"),
    [
        ({}, 1024, "simulated", (20, 1)),
        ({}, 1 << 20, "simulated", (2, 1)),
        ({}, 2 << 20, "simulated", (1, 0)),
        ({}, 64 << 20, "simulated", (1, 0)),
        ({}, 64 << 20, "emulated", (20, 1)),
        ({"iterations": 3}, 64 << 20, "simulated", (3, 1)),
        ({"iterations": 1}, 4, "emulated", (1, 1)),
        ({"warmup": 4}, 64 << 20, "simulated", (1, 4)),
        ({"iterations": 5, "warmup": 0}, 4, "simulated", (5, 0)),
    ],
)
def test_iterations(asked, size, world, counts):
    assert PerfRequest("rack", (size,), **asked).counts(size, world) == counts


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (
            PerfRequest("rack", (4,), collective="scatter"),
            (
                "tb perf: COLLECTIVE: no protocol here runs it over the network; found 'scatter'; allowed: "
                "all_reduce, reduce_scatter, all_gather, broadcast, reduce, alltoall; did you mean 'reduce_scatter'?"
            ),
        ),
        (
            PerfRequest("rack", (4,), collective="all_reduc"),
            (
                f"tb perf: COLLECTIVE: no such collective; found 'all_reduc'; allowed: "
                f"all_reduce, reduce_scatter, all_gather, broadcast, reduce, alltoall; {NEAR}"
            ),
        ),
        (
            PerfRequest("shift", (4,)),
            "shift: job.protocol: is no all_reduce; found shift; allowed: a collective that sums, or --protocol",
        ),
        (
            PerfRequest("rack", (4,), collective="all_gather", root=1),
            (
                "tb perf: --root: all_gather has no root; found 1; allowed: leave the option out; "
                "broadcast, reduce have one"
            ),
        ),
        (
            PerfRequest("rack", (4,), collective="all_to_all", protocols=("ring",)),
            "tb perf: --protocol: does not run alltoall; found 'ring'; allowed: mesh, pairwise",
        ),
        (PerfRequest("jobs-8", (4,)), "jobs-8: jobs: has several jobs; allowed: a scenario with one job"),
        (
            PerfRequest("mixed-netreduce-ring", (4,)),
            "mixed-netreduce-ring: beside: has several jobs; allowed: a scenario with one job",
        ),
    ],
)
@pytest.mark.protocols("switchml", "ring")
def test_what_cannot_be_measured(request_, text):
    with pytest.raises(ScenarioError) as caught:
        resolved(request_)
    assert str(caught.value) == text


def test_an_unknown_protocol():
    with pytest.raises(ScenarioError, match="tb perf: --protocol: no such protocol of sweeps; found 'rign'"):
        resolved(PerfRequest("rack", (4,), protocols=("rign",)))
    assert "ring" in names_where(lambda each: each.result().is_sum)
