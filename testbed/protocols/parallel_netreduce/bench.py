"""`tb bench hierarchical`: FR, TA and PN over machines of several workers, measured and by their closed forms.

- Times at one size, for ratios B_intra/B_inter on both sides of the threshold of the sufficient condition.
- The crossover: the size M* below which PN beats FR, found by running both, at ratios below the threshold. Rings go
  step by step, as the closed forms count, or are pipelined, which the closed forms do not cover.
- Above the threshold: PN beats FR at every size.

"Ratio" stands for B_intra/B_inter in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.bench.contract import Bench
from testbed.bench.measure import ToldRun
from testbed.bench.rows import Row, trust_of
from testbed.bench.swept import FOLDER, Say, keep_swept, require_sums, run_swept
from testbed.protocols.parallel_netreduce.bench_machines import PROTOCOLS, MachinesPlace, closed_form
from testbed.scenario import dump_scenario
from testbed.sweeps.scenario_engine import FinishedScenarios
from testbed.sweeps.scenario_model import Outcome, Point, ScenarioSweep, Variant, name_of
from testbed.terminal.numbers import byte_size
from testbed.terminal.numbers import seconds as shown
from workloads.costs import threshold_ratio
from workloads.costs.conditions import crossover_size_bytes
from workloads.errors import InternalError

__all__ = ["BENCHES", "Setting", "bench_hierarchical", "find_crossover"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured, and what is asked of it."""

    place: MachinesPlace
    """its `intra_bps` follows from the ratios"""
    ratios: tuple[float, ...]
    """B_intra/B_inter at which times are taken"""
    crossovers: tuple[float, ...]
    """below the threshold, where M* is sought"""
    above: float
    """above the threshold"""
    size_bytes: int
    sizes: tuple[int, ...]
    """sizes of the runs above the threshold"""
    first_size: int
    """size where the search for M* begins"""
    pipelined_too: bool
    """seek M* of pipelined rings as well"""
    has_targets: bool
    """False: the machine's own time is in the figures, so that they are for information"""


_SIMULATED = Setting(
    MachinesPlace(2, 4, 100_000_000, 0, 5_000, 250_000),
    ratios=(1.0, 1.25, 1.5, 2.0, 4.0),
    crossovers=(1.0, 1.25, 1.5),
    above=2.25,
    size_bytes=2_000_000,
    sizes=(64_000, 256_000, 1_000_000, 4_000_000),
    first_size=8_000,
    pipelined_too=True,
    has_targets=True,
)
_EMULATED = Setting(
    MachinesPlace(2, 2, 20_000_000, 0, 100_000, 20_000_000, world="emulated"),
    ratios=(1.0, 2.5),
    crossovers=(1.0, 1.2, 1.4),
    above=2.5,
    size_bytes=1_600_000,
    sizes=(400_000, 1_600_000),
    first_size=400_000,
    pipelined_too=False,
    has_targets=False,
)
SETTINGS = {"simulated": _SIMULATED, "emulated": _EMULATED}
_TIME_WITHIN, _CROSSOVER_WITHIN = 0.05, 0.10
_MOST_DOUBLINGS = 12
_FINE = 0.005
"""share of a size: the crossover is known well enough"""
_MOST_STEPS = 6
_DESCRIPTION = "All-reduces over machines of several workers: tb bench hierarchical (docs/hierarchical.md)"


def bench_hierarchical(say: Say, world: str = "simulated", setting: Setting | None = None) -> list[Row]:
    """Runs are three sweeps under `runs/bench-hierarchical`: times, crossover, above; the same command goes on there.
    Raises InternalError when a sum is wrong, or when PN and FR do not cross where they must."""
    chosen = setting or SETTINGS[world]
    return [*_times(say, chosen), *_crossovers(say, chosen), _above(say, chosen)]


def find_crossover(advantage: Callable[[int], float], first: int) -> float:
    """The size in bytes at which `advantage` changes its sign from plus to minus. `advantage` is the time in seconds by
    which PN is faster, for a size that is a multiple of 4. Sizes are doubled until the sign changes, then the line
    through both sides is followed (regula falsi). Raises InternalError when `first` is behind it or no size that is
    tried is."""
    low, high = first, 2 * first
    gain, loss = advantage(low), advantage(high)
    if gain <= 0:
        raise InternalError(f"PN does not beat FR at {first} bytes: the crossover lies below")
    for _ in range(_MOST_DOUBLINGS):
        if loss <= 0:
            break
        low, gain, high = high, loss, 2 * high
        loss = advantage(high)
    if loss > 0:
        raise InternalError(f"PN beats FR up to {high} bytes: there is no crossover")
    for _ in range(_MOST_STEPS):
        meeting = low + (high - low) * gain / (gain - loss)
        size = round(meeting) // 4 * 4
        if not low < size < high or min(size - low, high - size) < _FINE * size:
            return meeting
        found = advantage(size)
        if found > 0:
            low, gain = size, found
        else:
            high, loss = size, found
    return low + (high - low) * gain / (gain - loss)


def _at(setting: Setting, ratio: float) -> MachinesPlace:
    return replace(setting.place, intra_bps=round(setting.place.inter_bps * ratio))


class _Runs:
    """A sweep that grows."""

    def __init__(self, say: Say, name: str, setting: Setting) -> None:
        self._say, self._world = say, setting.place.world
        self._name = name if self._world == "simulated" else f"{name}-{self._world}"
        self._folder, self._points = FOLDER / "bench-hierarchical" / self._name, dict[Point, None]()
        self._finished: FinishedScenarios | None = None

    def run(self, points: Sequence[Point]) -> list[_Measured]:
        """In their order; all that ran before is in the tables, too."""
        self._points |= dict.fromkeys(points)
        axes = ("ratio", "rings", "job.size")
        varied = tuple((axis, tuple(dict.fromkeys(point.values[axis] for point in self._points))) for axis in axes)
        variants = tuple(Variant(name) for name in dict.fromkeys(point.values["variant"] for point in self._points))
        sweep = ScenarioSweep(
            self._name, _DESCRIPTION, ("hierarchical",), variants, varied, worlds=(self._world,),
            figures=("jct_s", "closed_form_s"),
        )  # fmt: skip
        self._finished = run_swept(lambda line: None, self._name, sweep, self._folder, 0, list(self._points))
        require_sums(self._finished)
        outcomes = dict(zip(self._finished.points, self._finished.outcomes, strict=True))
        found = [_Measured.of(outcomes[point]) for point in points]
        for point, run in zip(points, found, strict=True):
            self._say(f"{self._name}: {_words(point)}: {shown(run.jct_s)}, fidelity {run.fidelity}")
        return found

    def keep(self, *, draws: bool = True) -> None:
        assert self._finished is not None, "something ran"
        keep_swept(self._say, self._name, self._finished, self._folder, draws=draws)


@dataclass(frozen=True, slots=True)
class _Measured:
    jct_s: float
    closed_form_s: float | None
    fidelity: str
    dilation: int
    deviation: float | None

    @classmethod
    def of(cls, outcome: Outcome) -> _Measured:
        """What the run itself does not trust is shown here, with the verdict on its fidelity."""
        found, told = outcome.figures, ToldRun.of_figures(outcome.figures)
        jct_s = found["unreliable.jct_s" if outcome.untimed else "jct_s"]
        if jct_s is None:
            raise InternalError("a job did not come to its end")
        fidelity = "unknown" if outcome.untimed else "pass"
        return cls(jct_s, found["closed_form_s"], fidelity, told.dilation, told.deviation)


def _point(place: MachinesPlace, algorithm: str, size: int, *, pipelined: bool = False) -> Point:
    labels: tuple[tuple[str, Any], ...] = (
        ("scenario", "hierarchical"), ("variant", algorithm), ("ratio", place.intra_bps / place.inter_bps),
        ("rings", "pipelined" if pipelined else "step by step"), ("job.size", size), ("world", place.world),
    )  # fmt: skip
    scenario = place.scenario(algorithm, size, pipelined=pipelined)
    return Point(labels, scenario.seed, place.world, dump_scenario(scenario), measure=name_of(closed_form))


def _words(point: Point) -> str:
    found = point.values
    rings = ", pipelined" if found["rings"] == "pipelined" else ""
    return f"{found['variant']}{rings}, B_intra/B_inter {found['ratio']:g}, {found['job.size']} bytes"


def _times(say: Say, setting: Setting) -> Iterator[Row]:
    """Measured against the closed form."""
    size, within = setting.size_bytes, _TIME_WITHIN if setting.has_targets else None
    runs = _Runs(say, "times", setting)
    by_ratio = {ratio: [_point(_at(setting, ratio), name, size) for name in PROTOCOLS] for ratio in setting.ratios}
    measured = iter(runs.run([point for points in by_ratio.values() for point in points]))
    runs.keep()
    for ratio, points in by_ratio.items():
        found = [next(measured) for _ in points]
        least = min(run.closed_form_s or 0 for run in found)
        for point, run in zip(points, found, strict=True):
            seconds = run.closed_form_s
            assert seconds is not None, "rings are not pipelined here"
            name = point.values["variant"]
            what, peer = f"{name} time, ratio {ratio:g}, {size / 1e6:g} MB", f"closed form {shown(seconds)}"
            note = "least of the three closed forms" if seconds == least else ""
            labels = _Labels(what, peer, "s", note)
            yield _row(labels, run.jct_s, run.jct_s / seconds, within, [run], point.world)


def _crossovers(say: Say, setting: Setting) -> Iterator[Row]:
    runs = _Runs(say, "crossover", setting)
    for ratio in setting.crossovers:
        place = _at(setting, ratio)
        closed = crossover_size_bytes(place.costs())
        if closed is None:
            raise InternalError(f"the closed form has no crossover at B_intra/B_inter {ratio:g}")
        for pipelined in (False, True) if setting.pipelined_too else (False,):
            race = _Race(runs, place, pipelined)
            found = find_crossover(race.advantage, setting.first_size)
            say(f"B_intra/B_inter {ratio:g}: M* measured {found:.0f} bytes, closed form {closed:.0f}")
            within = _CROSSOVER_WITHIN if setting.has_targets and not pipelined else None
            word, note = "", f"{found / closed - 1:+.1%}"
            if pipelined:
                word, note = ", pipelined", f"{note}; rings that hide latency, which the closed form counts in full"
            what, peer = f"M* of PN against FR{word}, ratio {ratio:g}", f"closed form {byte_size(closed)}"
            labels = _Labels(what, peer, "byte", note)
            yield _row(labels, found, found / closed, within, race.measured, place.world)
    runs.keep(draws=False)  # each race has sizes of its own


class _Race:
    """FR against PN."""

    def __init__(self, runs: _Runs, place: MachinesPlace, pipelined: bool = False) -> None:
        self._runs, self._place, self._pipelined = runs, place, pipelined
        self.measured = list[_Measured]()
        """so far"""

    def times(self, size: int) -> tuple[float, float]:
        """Seconds of FR and of PN."""
        points = [_point(self._place, name, size, pipelined=self._pipelined) for name in ("FR", "PN")]
        flat, parallel = self._runs.run(points)
        self.measured += [flat, parallel]
        return flat.jct_s, parallel.jct_s

    def advantage(self, size: int) -> float:
        """Seconds that PN saves."""
        flat, parallel = self.times(size)
        return flat - parallel


def _above(say: Say, setting: Setting) -> Row:
    place, runs = _at(setting, setting.above), _Runs(say, "above", setting)
    race = _Race(runs, place)
    shares = [flat / parallel for flat, parallel in map(race.times, setting.sizes)]
    runs.keep()
    threshold = threshold_ratio(place.machines * place.per_machine, place.per_machine)
    low, high = setting.sizes[0] / 1e6, setting.sizes[-1] / 1e6
    return Row(
        what=f"least FR time / PN time, ratio {setting.above:g}, {low:g} to {high:g} MB",
        peer=f"1: PN always wins above {threshold:.3f}",
        repeats=len(shares),
        median=min(shares),
        spread=(max(shares) - min(shares)) / min(shares),
        unit="",
        ratio=min(shares),
        target=1.0 if setting.has_targets else None,
        fidelity=_worst(race.measured),
        **trust_of(place.world, race.measured),
    )


def _worst(runs: Sequence[_Measured]) -> str:
    return "pass" if all(run.fidelity == "pass" for run in runs) else "unknown"


@dataclass(frozen=True, slots=True)
class _Labels:
    """What a figure is, for people."""

    what: str
    peer: str
    unit: str
    note: str


def _row(
    labels: _Labels, value: float, ratio: float, within: float | None, runs: Sequence[_Measured], world: str
) -> Row:
    """One figure, of these runs; `within`: how far from 1 the ratio may be."""
    least, most = (None, None) if within is None else (1 - within, 1 + within)
    return Row(
        labels.what, labels.peer, 1, value, 0.0, labels.unit, ratio, least, _worst(runs), note=labels.note, most=most,
        **trust_of(world, runs),
    )  # fmt: skip


BENCHES = (
    Bench("hierarchical", lambda say, world, options: bench_hierarchical(say, world), ("simulated", "emulated")),
)
