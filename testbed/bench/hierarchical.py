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

from testbed.bench.machines import COLLECTIVES, Place
from testbed.bench.measure import Measurement, measure
from testbed.bench.rows import Row, for_whom
from testbed.terminal.numbers import byte_size
from testbed.terminal.numbers import seconds as shown
from workloads.costs import machine_cost, threshold_ratio
from workloads.costs.conditions import crossover_size_bytes
from workloads.errors import InternalError

__all__ = ["Setting", "bench_hierarchical", "find_crossover"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured, and what is asked of it."""

    place: Place
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
    Place(2, 4, 100_000_000, 0, 5_000, 250_000),
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
    Place(2, 2, 20_000_000, 0, 100_000, 20_000_000, world="emulated"),
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


def bench_hierarchical(say: Say, world: str = "simulated", setting: Setting | None = None) -> list[Row]:
    """Raises InternalError when a sum is wrong, or when PN and FR do not cross where they must."""
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


def _at(setting: Setting, ratio: float) -> Place:
    return replace(setting.place, intra_bps=round(setting.place.inter_bps * ratio))


def _run(say: Say, place: Place, algorithm: str, size: int, *, pipelined: bool = False) -> Measurement:
    found = measure(place.scenario(algorithm, size, pipelined=pipelined))
    ratio, word = place.intra_bps / place.inter_bps, ", pipelined" if pipelined else ""
    say(f"{algorithm}{word}, B_intra/B_inter {ratio:g}, {size} bytes: {shown(found.jct_s)}, fidelity {found.fidelity}")
    return found


def _times(say: Say, setting: Setting) -> Iterator[Row]:
    """Measured against the closed form."""
    size, within = setting.size_bytes, _TIME_WITHIN if setting.has_targets else None
    for ratio in setting.ratios:
        place = _at(setting, ratio)
        costs = place.costs()
        closed = {name: machine_cost(name).seconds(costs, size) for name in COLLECTIVES}
        for name, seconds in closed.items():
            run = _run(say, place, name, size)
            what, peer = f"{name} time, ratio {ratio:g}, {size / 1e6:g} MB", f"closed form {shown(seconds)}"
            note = "least of the three closed forms" if seconds == min(closed.values()) else ""
            yield _row(what, peer, run.jct_s, "s", run.jct_s / seconds, within, [run], place.world, note)


def _crossovers(say: Say, setting: Setting) -> Iterator[Row]:
    for ratio in setting.crossovers:
        place = _at(setting, ratio)
        closed = crossover_size_bytes(place.costs())
        if closed is None:
            raise InternalError(f"the closed form has no crossover at B_intra/B_inter {ratio:g}")
        for pipelined in (False, True) if setting.pipelined_too else (False,):
            race = _Race(say, place, pipelined)
            found = find_crossover(race.advantage, setting.first_size)
            say(f"B_intra/B_inter {ratio:g}: M* measured {found:.0f} bytes, closed form {closed:.0f}")
            within = _CROSSOVER_WITHIN if setting.has_targets and not pipelined else None
            word, note = "", f"{found / closed - 1:+.1%}"
            if pipelined:
                word, note = ", pipelined", f"{note}; rings that hide latency, which the closed form counts in full"
            what, peer = f"M* of PN against FR{word}, ratio {ratio:g}", f"closed form {byte_size(closed)}"
            yield _row(what, peer, found, "byte", found / closed, within, race.runs, place.world, note)


class _Race:
    """FR against PN."""

    def __init__(self, say: Say, place: Place, pipelined: bool = False) -> None:
        self._say, self._place, self._pipelined = say, place, pipelined
        self.runs = list[Measurement]()
        """so far"""

    def times(self, size: int) -> tuple[float, float]:
        """Seconds of FR and of PN."""
        runs = [_run(self._say, self._place, name, size, pipelined=self._pipelined) for name in ("FR", "PN")]
        self.runs += runs
        return runs[0].jct_s, runs[1].jct_s

    def advantage(self, size: int) -> float:
        """Seconds that PN saves."""
        flat, parallel = self.times(size)
        return flat - parallel


def _above(say: Say, setting: Setting) -> Row:
    place = _at(setting, setting.above)
    race = _Race(say, place)
    shares = [flat / parallel for flat, parallel in map(race.times, setting.sizes)]
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
        fidelity=_worst(race.runs),
        **for_whom(place.world, race.runs),
    )


def _worst(runs: Sequence[Measurement]) -> str:
    return "pass" if all(run.fidelity == "pass" for run in runs) else "unknown"


def _row(
    what: str,
    peer: str,
    value: float,
    unit: str,
    ratio: float,
    within: float | None,
    runs: Sequence[Measurement],
    world: str,
    note: str,
) -> Row:
    """One figure, of these runs; `within`: how far from 1 the ratio may be."""
    least, most = (None, None) if within is None else (1 - within, 1 + within)
    return Row(
        what, peer, 1, value, 0.0, unit, ratio, least, _worst(runs), note=note, most=most, **for_whom(world, runs)
    )
