"""gloo and OpenMPI among the runs of `tb bench loss`: the same size and losses on the same links, over kernel TCP.

A Linux bridge is in the middle, so that only the rack has them: two spines would be a loop of bridges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from testbed.bench.loss.cases import LOSS_KEY, LossCase
from testbed.bench.peers import cases
from testbed.bench.peers.cases import Sample
from testbed.bench.peers.kernel_tcp import missing_peers, peers_on
from testbed.scenario import parse_scenario
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point, Variant

__all__ = ["has_peers", "with_peers"]

_LABELS = {"gloo": "gloo (TCP)", "openmpi": "OpenMPI (TCP)"}


def has_peers(case: LossCase) -> bool:
    return case.network == "rack" and case.sweep.worlds == ("emulated",)


def with_peers(case: LossCase, finished: FinishedScenarios, say: Callable[[str], None]) -> FinishedScenarios:
    """The sweep and, as runs of variants of their own, the peers that this machine has. Raises as `peers_on`, and
    InternalError when a sum is wrong."""
    absent = missing_peers()
    for name, what in absent.items():
        say(f"{case.title}: {name} is left out: {what} is missing")
    first = finished.points[0]
    found = [_as_run(case, first, sample) for sample in _measure(case, first.text, absent, say)]
    labels = [_LABELS[name] for name in _LABELS if name not in absent]
    sweep = replace(finished.sweep, variants=(*finished.sweep.variants, *map(Variant, labels)))
    return replace(
        finished,
        sweep=sweep,
        points=(*finished.points, *(point for point, _ in found)),
        outcomes=(*finished.outcomes, *(outcome for _, outcome in found)),
        names=(*finished.names, *("" for _ in found)),
    )


def _measure(case: LossCase, text: str, absent: Mapping[str, str], say: Callable[[str], None]) -> Iterator[Sample]:
    """`text`: of a scenario of the sweep, whose links and size are theirs."""
    scenario = parse_scenario(text, case.sweep.name)
    job = scenario.all_jobs[0]
    [losses] = [rates for key, rates in case.sweep.axes if key == LOSS_KEY]
    with peers_on(scenario.topology, absent) as peers:
        for rate in losses:
            for name, peer in peers.items():
                for seed in case.sweep.seeds:
                    yield peer.measure(cases.PeerBenchCase(case.workers, job.size_bytes, rate), seed)
                say(f"{case.title}: {name} at {100 * rate:g}% loss is done")


def _as_run(case: LossCase, like: Point, sample: Sample) -> tuple[Point, Outcome]:
    """The peer's own run checks its sums. There is no reference run in virtual time to check its times."""
    labels = like.values | {case.sweep.variant_name: _LABELS[sample.subject], LOSS_KEY: sample.case.loss}
    return Point(tuple(labels.items()), sample.repeat, like.world, ""), Outcome(
        "done", "pass", {"jct_s": sample.seconds}
    )
