"""How long a sweep takes: a short run at each corner first, then what the finished runs took. Runs are weighed by the
bytes that their workers send, not counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import yaml

from testbed.estimate import memory_need
from testbed.kernel.free_memory import available_bytes
from testbed.plan import make_plan
from testbed.scenario.loader import parse_scenario
from testbed.scenario.own_program import PROGRAM_KEY, set_words
from testbed.sweeps.scenario_engine import Compute
from testbed.sweeps.scenario_model import Outcome, Point
from testbed.sweeps.values import number_of, shown_value
from testbed.terminal.numbers import byte_size
from testbed.terminal.words import amount
from workloads.errors import TestbedError

__all__ = ["Forecast", "corners", "shortened"]

_MOST_CORNERS = 24
_WORTH, _LEAST_RUNS = 4, 16
"""times as many runs as corners, and runs, from which on a pilot is made"""
_SHORTER = 10
_LEAST_BYTES = 16_384
_SEED = re.compile(r"^seed: .*$", re.MULTILINE)
"""runs that differ by it have one weight"""
_SIZE = re.compile(r"^(job:\n(?:  .*\n)*?  size: )(.*)$", re.MULTILINE)


class Forecast:
    """Of one sweep; a `Watch` of the engine. `jobs`: processes; None: not known. `say`: for a line of progress.
    `clock`: seconds."""

    def __init__(self, jobs: int | None, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._jobs, self._say, self._clock = jobs or 1, say, clock
        self._points: Sequence[Point] = ()
        self._open = dict[int, None]()
        self._seen = dict[frozenset[str], list[float]]()
        """labels -> seconds per byte of each run there"""
        self._left_s, self._since = 0.0, 0.0
        """left when it was estimated, and when that was; 0.0: never"""

    def start(self, points: Sequence[Point], known: Mapping[int, Outcome], compute: Compute) -> None:
        self._points = points
        self._open = {place: None for place in range(len(points)) if place not in known}
        for place, outcome in known.items():
            self._learn(points[place], outcome)
        if not self._seen:
            self._pilot(compute)
        self._estimate()

    def finish(self, place: int, outcome: Outcome) -> None:
        self._open.pop(place, None)
        self._learn(self._points[place], outcome)
        self._estimate()

    @property
    def left_s(self) -> float | None:
        """Seconds until all is done; None: not known, as after the time that was estimated."""
        left_s = self._left_s - (self._clock() - self._since)
        return left_s if self._open and left_s > 0 else None

    def _learn(self, point: Point, outcome: Outcome) -> None:
        if outcome.is_done and point.text:
            self._seen.setdefault(_key(point), []).append(outcome.wall_s / _bytes_of(point))

    def _estimate(self) -> None:
        if self._seen:
            rates = {labels: sum(found) / len(found) for labels, found in self._seen.items()}
            points = [self._points[place] for place in self._open]
            there = {key: _nearest(key, rates) for key in {_key(point) for point in points}}
            self._left_s = sum(_bytes_of(point) * there[_key(point)] for point in points) / self._jobs
        self._since = self._clock()

    def _pilot(self, compute: Compute) -> None:
        """A short run at each corner: how long, how much memory, and what will be refused. None where a run would not
        be shorter than the whole one, which would then be done twice."""
        at = [self._points[place] for place in corners(self._points) if place in self._open]
        pairs = [(point, less) for point in at if (less := shortened(point)) is not point]
        chosen, short = [point for point, _ in pairs], [less for _, less in pairs]
        if not chosen or len(self._open) < max(_LEAST_RUNS, _WORTH * len(chosen)):
            return
        began, failed, found = self._clock(), list[str](), dict[int, Outcome]()
        for index, words in compute(short):
            document = words.pop("document", None)
            found[index] = Outcome(**words)
            self._learn(replace(short[index], labels=chosen[index].labels), found[index])
            if document is None:
                failed.append(f"{_labels(chosen[index])}: {found[index].reason}")
        self._estimate()
        needs, room = [need for point in chosen if (need := _memory(point)) is not None], available_bytes()
        most = max([*(most for most, _ in needs), *_measured_memory(chosen, short, found)], default=0)
        at_once = amount(self._jobs, "process", "processes")
        self._say(
            f"pilot: {amount(len(short), 'short run')} in {_span(self._clock() - began)}; all "
            f"{amount(len(self._open), 'run')} take about {_span(self._left_s)} with {at_once}"
            + (f", and at most {byte_size(most)} each" if most else "")
        )
        for point in chosen:
            need = _memory(point)
            if need is not None and need[1] > room:
                failed.append(f"{_labels(point)}: takes {byte_size(need[1])}, and {byte_size(room)} are available")
        for line in failed:
            self._say(f"pilot: will be refused: {line}")


def corners(points: Sequence[Point]) -> list[int]:
    """Places of the points at the ends of all axes of numbers, for each variant, scenario and world; one seed each. At
    most 24: otherwise the first point of each variant."""
    values: dict[str, list[float]] = {}
    for point in points:
        for name, value in point.labels:
            number = number_of(value)
            if number is not None:
                values.setdefault(name, []).append(number)
    ends = {name: {min(found), max(found)} for name, found in values.items() if len(found) == len(points)}
    found_at: dict[tuple[str, ...], int] = {}
    first_at: dict[tuple[str, ...], int] = {}
    for place, point in enumerate(points):
        if point.problem:
            continue
        words = tuple(repr(label) for label in point.labels if label[0] not in ends)
        first_at.setdefault(words, place)
        if all(number_of(value) in ends[name] for name, value in point.labels if name in ends):
            found_at.setdefault(tuple(map(repr, point.labels)), place)
    chosen = list(found_at.values()) if 0 < len(found_at) <= _MOST_CORNERS else list(first_at.values())[:_MOST_CORNERS]
    return sorted(chosen)


def shortened(point: Point) -> Point:
    """With a tenth of the gradient, where it has a size and is valid with less."""
    found = _SIZE.search(point.text)
    if found is None:
        return point
    size = int(number_of(yaml.safe_load(found[2])) or 0)
    less = max(_LEAST_BYTES, size // _SHORTER // 4096 * 4096)
    if less >= size:
        return point
    text = f"{point.text[: found.start()]}{found[1]}{less}{point.text[found.end() :]}"
    try:
        _parsed(text, point.program)
    except TestbedError:
        return point
    return replace(point, text=text)


def _parsed(text: str, program: str) -> Any:
    return parse_scenario(text, "the point", set_words(PROGRAM_KEY, program)[1:] if program else [])


def _bytes_of(point: Point) -> float:
    return _weigh(_SEED.sub("", point.text), point.program)


@cache
def _weigh(text: str, program: str) -> float:
    """Bytes that all workers send; at least 1."""
    scenario = _parsed(text, program)
    sent = sum(job.size_bytes * job.iterations for job in scenario.all_jobs) / len(scenario.all_jobs)
    return max(1.0, float(sent) * len(scenario.ranks))


def _key(point: Point) -> frozenset[str]:
    return frozenset(f"{name}={value!r}" for name, value in point.labels)


def _nearest(labels: frozenset[str], rates: Mapping[frozenset[str], float]) -> float:
    """Seconds per byte: of the same labels, otherwise of those that have most in common, the mean."""
    if labels in rates:
        return rates[labels]
    common = {there: len(labels & there) for there in rates}
    most = max(common.values())
    found = [rates[there] for there, count in common.items() if count == most]
    return sum(found) / len(found)


def _measured_memory(whole: Sequence[Point], short: Sequence[Point], found: Mapping[int, Outcome]) -> Iterator[float]:
    """Bytes of whole runs, by what their short runs took: records grow with the packets, also with those that are sent
    again. A process that ran a larger one before has the peak of that one, so only the largest value says something."""
    measured = {index: outcome for index, outcome in found.items() if outcome.peak_bytes}
    rest = min((outcome.rest_bytes for outcome in measured.values()), default=0)
    for index, outcome in measured.items():
        yield rest + max(0, outcome.peak_bytes - rest) * _bytes_of(whole[index]) / _bytes_of(short[index])


def _memory(point: Point) -> tuple[int, int] | None:
    """(bytes at most, bytes at least) of the whole run."""
    try:
        need = memory_need(make_plan(_parsed(point.text, point.program)))
    except TestbedError:
        return None
    return need.most, need.least


def _labels(point: Point) -> str:
    return ", ".join(f"{name} {shown_value(value)}" for name, value in point.labels[1:]) or point.labels[0][1]


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
