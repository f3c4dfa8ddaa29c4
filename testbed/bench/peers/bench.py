"""`tb bench peers`: gloo and OpenMPI over kernel TCP, ring and NetReduce over RoCE, in turns on the same links.

Each repeat runs every subject once, so that a slow spell of the machine meets them all. For scale: on a machine of two
processors, with 16 MB at 100 Mb/s, gloo took 1.61 and 1.88 times M/B at 4 and 8 hosts. OpenMPI took 1.86 and 2.30. The
ring's own bound is 2(N-1)/N times M/B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

from testbed.bench.options import BenchOptions
from testbed.bench.peers.cases import FULL, OURS, QUICK, RATE_BPS, SUBJECTS, Grid, PeerBenchCase, Sample
from testbed.bench.peers.csvfile import SampleFile
from testbed.bench.peers.kernel_tcp import missing_peers, peers_on
from testbed.bench.peers.ours import measure_ours, our_scenario
from testbed.bench.peers.plot import plot_svg
from testbed.bench.peers.summary import figures_of, rows_of, table
from testbed.bench.rows import Report
from testbed.runs.calibration import machine_name
from testbed.terminal.numbers import seconds
from workloads.errors import ScenarioError
from workloads.trusted import make_folder, write_named

__all__ = ["DEFAULT_PLOT", "bench_peers"]

Say = Callable[[str], None]
DEFAULT_PLOT = Path("runs/bench-peers.svg")


def bench_peers(say: Say, options: BenchOptions, dilation: int | None = None, grid: Grid | None = None) -> Report:
    """`dilation`: of ours; None leaves it to the machine. What kernel TCP does is in real time.

    Raises InternalError when a sum is wrong, HostCapabilityError, ScenarioError when a file cannot be written."""
    chosen = grid or (QUICK if options.quick else FULL)
    absent = missing_peers()
    for name, what in absent.items():
        say(f"{name} is left out: {what} is missing")
    machine = machine_name()
    samples = []
    with SampleFile(options.csv, machine) if options.csv else nullcontext() as file:
        for sample in _measure(chosen, options.repeats or chosen.repeats, dilation, absent):
            say(_told(sample))
            samples.append(sample)
            if file is not None:
                file.add(sample)
    figures, path = figures_of(samples), options.plot or DEFAULT_PLOT
    try:
        make_folder(path.parent)
    except OSError as error:
        raise ScenarioError(f"cannot be made: {error.strerror}", file=str(path.parent), key="--plot") from error
    write_named(path, plot_svg(figures, machine), key="--plot")
    say(f"plot: {path}")
    return Report(rows_of(figures), lambda width: [*table(figures, absent, width), f"on {machine}"])


def _measure(grid: Grid, repeats: int, dilation: int | None, absent: Mapping[str, str]) -> Iterator[Sample]:
    for hosts in grid.hosts:
        cases = [PeerBenchCase(hosts, size, loss) for size in grid.sizes for loss in grid.losses]
        # A peer needs the links and nothing of the protocol: they are those of any of our scenarios.
        topology = our_scenario(OURS[0], cases[0], 1, 1).topology
        with peers_on(topology, absent) as peers:
            for case in cases:
                for repeat in range(1, repeats + 1):
                    for subject in SUBJECTS:
                        if subject in peers:
                            yield peers[subject].measure(case, repeat)
                        elif subject not in absent:
                            yield measure_ours(subject, case, repeat, dilation)


def _told(sample: Sample) -> str:
    bits = sample.case.size_bytes * 8 / sample.seconds
    text = f"{sample.subject}, {sample.case}, run {sample.repeat}: {seconds(sample.seconds)}"
    text += f", {sample.multiple:.2f} times M/B, {bits / RATE_BPS:.0%} of the links"
    if sample.case.loss:
        text += f", {sample.lost} frames lost"
    if sample.fidelity:
        off = "" if sample.deviation is None else f", {sample.deviation:+.1%} from its reference run"
        text += f", dilation {sample.dilation}{off}, fidelity {sample.fidelity}"
    return text
