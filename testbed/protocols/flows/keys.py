"""The keys that protocol `flows` adds to `job`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from testbed.reading.fields import DurationKey, LimitKey, SizeKey, choice, share, whole
from testbed.reading.keytypes import At, KeyType, Refer, Refused, Told, refuse
from testbed.reading.problems import closest
from testbed.reading.sections import Key, Section
from testbed.reading.yamlfile import read_text
from testbed.scenario.overrides import SET_FILE
from topologies import MAX_RANKS
from workloads.errors import ScenarioError
from workloads.flows.sizes import BUILT_IN, FlowSizes, built_in, parse_sizes, problem_of

__all__ = ["ALL_TO_ALL", "INCAST", "PATTERNS", "PERMUTATION", "RANDOM", "FlowsKeys"]

RANDOM, PERMUTATION, INCAST, ALL_TO_ALL = "random", "permutation", "incast", "all_to_all"
PATTERNS = (RANDOM, PERMUTATION, INCAST, ALL_TO_ALL)
_SUFFIXES = (".txt", ".cdf", ".csv")
_A_WORD_OF_BYTES = 4
_NAMES = f"{', '.join(BUILT_IN)}, the path of a file (*.txt, *.cdf, *.csv), or a list of [bytes, percent]"


@dataclass(frozen=True, slots=True)
class _SizesType(KeyType):
    """A built-in distribution by name, the path of a file from the folder of the file that names it, or the points."""

    def read(self, value: Any, at: At) -> FlowSizes:
        if isinstance(value, list):
            return FlowSizes("", _points(value))
        if not isinstance(value, str):
            raise refuse("no distribution of sizes", _NAMES)
        if not value.endswith(_SUFFIXES):
            if value in BUILT_IN:
                return built_in(value)
            raise refuse("no such distribution of sizes", _NAMES, closest(value, BUILT_IN))
        here = Path() if at.problems.place(at.path).file == SET_FILE else at.problems.folder
        try:
            return FlowSizes("", parse_sizes(read_text(here / value, value)))
        except ValueError as error:
            raise refuse(f"{value} holds no distribution of sizes", str(error)) from None
        except ScenarioError as error:
            at.problems.relay(at.path, error)
            raise Told from None

    def write(self, value: FlowSizes) -> Any:
        if value.name:
            return value.name
        return [[_plain(size), _plain(percent)] for size, percent in value.points]

    def schema(self, refer: Refer) -> dict[str, Any]:
        pair = {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2}
        text = {"type": "string", "pattern": "[.](txt|cdf|csv)$"}
        return {"anyOf": [{"enum": list(BUILT_IN)}, text, {"type": "array", "items": pair, "minItems": 2}]}


def _points(value: list[Any]) -> tuple[tuple[float, float], ...]:
    numbers = all(
        isinstance(pair, list) and all(isinstance(item, int | float) and not isinstance(item, bool) for item in pair)
        for pair in value
    )
    problem = problem_of(value) if numbers else "pairs of numbers, as [[0, 0], [1000, 100]]"
    if problem:
        raise Refused("no distribution of sizes", problem)
    return tuple((float(size), float(percent)) for size, percent in value)


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


@dataclass(frozen=True, slots=True)
class FlowsKeys(Section):
    """Which flows there are, and when they begin."""

    pattern: Annotated[str, choice(PATTERNS)] = RANDOM
    """pairs of hosts: `random`, each flow to another host that is drawn; `permutation`, each host to one other host;
    `incast`, the others to the first host of the job; `all_to_all`, each host to each other one"""
    load: Annotated[float | None, share(), Key(shown="none")] = None
    """for `random` and `permutation`: flows begin at random times (Poisson) so that the frames of their data take this
    share of each sender's link, as 0.7. Without it, each pair has `each` flows, which all begin at once"""
    each: Annotated[int, whole(1, 10_000)] = 1
    """flows of each pair of hosts, without `load`"""
    fan_in: Annotated[int | None, whole(1, MAX_RANKS), Key(shown="all others")] = None
    """`incast`: number of senders, the hosts after the first one"""
    sizes: Annotated[FlowSizes, _SizesType()] = built_in("irn")
    """sizes of the flows: `irn`, `websearch`, `hadoop`, `storage` ([sources](flows.md#sizes)); the path of a file
    with a size in bytes and a cumulative percentage per line, the first line `0 0`; or a list of such pairs"""
    flow_size_bytes: Annotated[SizeKey | None, Key(shown="drawn from `sizes`")] = None
    """size of all flows"""
    duration_ns: LimitKey = 1_000_000
    """with `load`: flows begin in this time"""
    warm_up_ns: DurationKey = 0
    """flows that begin earlier count in no figure"""
    cool_down_ns: DurationKey = 0
    """nor do flows that begin in this last part of `duration`"""
    drain_ns: Annotated[DurationKey | None, Key(shown="until all flows have ended")] = None
    """time after `duration` in which flows may end. Then the hosts stop, and count what is unfinished"""

    @property
    def distribution(self) -> FlowSizes:
        """Of sizes, also where all are one."""
        size = self.flow_size_bytes
        return self.sizes if size is None else FlowSizes("", ((size, 0), (size, 100)))

    def gradient_bytes(self, ranks: int) -> int:
        """As `testbed.scenario.keys.job.SizedKeys`: flows are not made of a gradient."""
        return _A_WORD_OF_BYTES

    def left_out(self) -> Collection[str]:
        """What means nothing with the other keys, and is as it comes."""
        plain = {item.name: item.default for item in fields(self)}
        found = ["load", "duration_ns"] if self.load is None else ["each"]
        found += ["fan_in"] if self.pattern != INCAST else []
        found += ["sizes"] if self.flow_size_bytes is not None else []
        return [name for name in found if getattr(self, name) == plain[name]]

    def check(self, at: At) -> None:
        if self.load is None and self.pattern == RANDOM:
            (at / "load").add("is missing", allowed="a share of the links, as 0.7, for the pattern random")
        if self.load is not None and self.pattern not in (RANDOM, PERMUTATION):
            allowed = f"pattern: {RANDOM}, {PERMUTATION}"
            (at / "load").add(f"flows of {self.pattern} begin at once", found=f"{self.load:g}", allowed=allowed)
        if self.fan_in is not None and self.pattern != INCAST:
            (at / "fan_in").add(f"{self.pattern} has no such number", found=str(self.fan_in), allowed="pattern: incast")
        if self.load is not None and self.warm_up_ns + self.cool_down_ns >= self.duration_ns:
            (at / "warm_up").add("nothing is left to measure", allowed="with cool_down less than duration")
