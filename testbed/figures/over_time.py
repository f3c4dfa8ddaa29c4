"""What happened in each interval of a run, from its history alone. Most is counted from events that nodes report
anyway. Queues, slots and marks come from the looks that a world takes (`testbed.worlds.sampling`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Literal

from switch_nodes.events import SwitchSampled
from testbed.faults.events import FaultMissed, FaultStruck
from testbed.figures.arrivals import arrived
from testbed.figures.extent import end_of_job
from testbed.figures.resent import packet_times, resent
from testbed.history import Record, of_kind, of_kinds
from testbed.history.events import NodeExited, QueuesSampled
from testbed.history.records import is_in_time_order
from testbed.scenario.model import Scenario
from workloads.datagrams.blocks import BlockSummed
from workloads.events import (
    CnpSent,
    CollectiveStarted,
    MessageAcked,
    MessagePosted,
    MessageReceived,
    QpFailed,
    WorkerFellBack,
)
from workloads.machine import Event

__all__ = ["Kind", "OverTime", "Series", "interval_of", "over_time", "over_time_of"]

Kind = Literal["rate", "state", "count"]
"""of values: by the second, at the end of an interval or at most in it, or what happened in it"""

_MOST_INTERVALS = 150


@dataclass(frozen=True, slots=True)
class Series:
    title: str
    unit: str
    kind: Kind
    lines: tuple[tuple[str, tuple[float, ...]], ...]
    """(node or link, a value for each interval)"""


@dataclass(frozen=True, slots=True)
class OverTime:
    interval_ns: int
    intervals: int
    end_ns: int
    """end of the job; the last interval ends then, and holds what came later"""
    series: tuple[Series, ...]
    """series in which something happened"""
    sampled_ns: tuple[int, ...] = ()
    """the intervals at which queues, slots and marks were looked at, one after the other; empty: they were not"""

    def of(self, title: str) -> Mapping[str, tuple[float, ...]]:
        """The lines of the series of that title, by node or link; nothing where nothing of it happened."""
        return next((dict(series.lines) for series in self.series if series.title == title), {})


def interval_of(end_ns: int) -> int:
    """1, 2 or 5 times a power of ten nanoseconds, so that there are at most 150 of them up to `end_ns`."""
    return _round(end_ns / _MOST_INTERVALS)


def over_time(
    history: Sequence[Record],
    *,
    hello: bool = True,
    packet_ns: Mapping[str, float] = MappingProxyType({}),
    interval_ns: int = 0,
) -> OverTime | None:
    """`hello`: message 0 of a connection carries no gradient (key `job.hello`); `packet_ns`: as `packet_times`. None
    where nothing took time. `interval_ns`: 0 is `interval_of` the job. The last interval ends with the job."""
    end = end_of_job(history)
    if end <= 0:
        return None
    interval = interval_ns or interval_of(end)
    count = -(-end // interval)
    counted = _Counted(history, interval, end, hello)
    found = (
        counted.arrived(),
        counted.completed(),
        counted.rates("blocks summed", "blocks/s", BlockSummed),
        counted.in_flight(),
        counted.most("frames waiting in queues", "frames", QueuesSampled, _waiting),
        counted.most("slots in use", "slots", SwitchSampled, _slots),
        counted.grown("packets marked (CE)", "packets", SwitchSampled, _marked),
        counted.sent_again(packet_ns),
        counted.strikes(),
        counted.sums("answers to congestion marks (CNPs)", "packets", CnpSent),
    )
    looked = {record.event.every_ns: None for record in of_kind(history, QueuesSampled)}
    return OverTime(interval, count, end, tuple(series for series in found if series.lines), tuple(looked))


def over_time_of(history: Sequence[Record], scenario: Scenario | None, interval_ns: int = 0) -> OverTime | None:
    """As `over_time`, of a run of the scenario; None: it is not known."""
    if scenario is None:
        return over_time(history, interval_ns=interval_ns)
    return over_time(history, hello=scenario.job.hello, packet_ns=packet_times(scenario), interval_ns=interval_ns)


def _round(least_ns: float) -> int:
    power = 10 ** max(0, math.floor(math.log10(max(least_ns, 1))))
    return int(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least_ns))


def _waiting(record: Record) -> Mapping[str, int] | None:
    return record.event.waiting if isinstance(record.event, QueuesSampled) else None


def _slots(record: Record) -> Mapping[str, int] | None:
    event = record.event
    if not isinstance(event, SwitchSampled) or event.slots_in_use is None:
        return None
    return {record.node: event.slots_in_use}


def _marked(record: Record) -> Mapping[str, int] | None:
    return record.event.marks if isinstance(record.event, SwitchSampled) else None


def _began(record: Record) -> str:
    """The worker that begins its job, in another life or as another protocol too."""
    return record.node if isinstance(record.event, CollectiveStarted) and record.event.iteration == 0 else ""


def _lost_track(record: Record) -> str:
    """The node whose queue pairs are gone, with all that was outstanding in them."""
    if isinstance(record.event, NodeExited):
        return record.event.node
    return record.node if isinstance(record.event, WorkerFellBack | QpFailed) else ""


class _Counted:
    """One history, cut into intervals."""

    def __init__(self, history: Sequence[Record], interval: int, end: int, hello: bool) -> None:
        self.history, self.interval, self.hello = history, interval, hello
        self.edges = (*range(0, end, interval), end)
        self.count = len(self.edges) - 1
        self._bytes: dict[str, float] = {}
        for record in of_kind(history, CollectiveStarted):
            if record.event.messages:
                self._bytes.setdefault(record.node, record.event.bytes / record.event.messages)

    def message_bytes(self, node: str, message: int) -> float:
        """On average over the messages of a gradient: the last one of them may be shorter."""
        return 0.0 if self.hello and message == 0 else self._bytes.get(node, 0.0)

    def in_time(self, *kinds: type[Event]) -> list[Record]:
        """Records of these kinds of events, by time."""
        found = of_kinds(self.history, *kinds)
        return found if is_in_time_order(found) else sorted(found, key=_time)

    def at(self, record: Record) -> int:
        """The number of its interval."""
        return self._interval_of(record.t)

    def _interval_of(self, t: int) -> int:
        return min(max(t, 0) // self.interval, self.count - 1)

    def arrived(self) -> Series:
        """All bytes of frames on the links into hosts, where the world looks at them."""
        looks = [
            (record.t, record.event.arrived_bits) for record in sorted(of_kind(self.history, QueuesSampled), key=_time)
        ]
        hosts = {host for _, bits in looks for host in bits}
        lines = {host: arrived([(t, bits.get(host, 0)) for t, bits in looks], self.edges) for host in hosts}
        rates = ((host, self._by_second(line)) for host, line in lines.items() if any(line))
        return Series("received over links", "bit/s", "rate", _sorted(rates))

    def completed(self) -> Series:
        """Not by the second: a message that completes behind a gap brings what arrived long before it."""

        signs: dict[type[Event], float] = {MessageReceived: 1.0}
        return self.levels("gradient of completed messages", signs, _began, CollectiveStarted)

    def in_flight(self) -> Series:
        """What was posted and not acknowledged."""
        signs: dict[type[Event], float] = {MessagePosted: 1.0, MessageAcked: -1.0}
        return self.levels(
            "posted and not acknowledged", signs, _lost_track, NodeExited, WorkerFellBack, QpFailed,
        )  # fmt: skip

    def levels(
        self, title: str, signs: Mapping[type[Event], float], none: Callable[[Record], str], *kinds: type[Event]
    ) -> Series:
        """Bytes at the end of each interval. `signs`: of what records about messages add. `none`: the node that has
        none after a record of one of `kinds`; empty: all keep theirs."""
        points: dict[str, dict[int, float]] = {}
        now: dict[str, float] = {}
        interval, last, message_bytes = self.interval, self.count - 1, self.message_bytes
        for record in self.in_time(*signs, *kinds):
            t, node, event = record.t, record.node, record.event
            sign = signs.get(type(event))
            if sign is None:
                if (node := none(record)) not in now:
                    continue
                now[node] = 0.0
            elif t >= 0 and (size := message_bytes(node, event.message)):  # type: ignore[attr-defined]
                if node not in now:
                    now[node], points[node] = 0.0, {}
                level = now[node] + sign * size
                now[node] = level if level > 0.0 else 0.0
            else:
                continue
            points[node][min(max(t, 0) // interval, last)] = now[node]
        return Series(title, "bytes", "state", _sorted((node, self._held(found)) for node, found in points.items()))

    def _held(self, points: Mapping[int, float]) -> list[float]:
        """A value that stays until the next one, from 0 on."""
        return list(accumulate(range(self.count), lambda last, at: points.get(at, last), initial=0.0))[1:]

    def _by_second(self, line: Sequence[float]) -> list[float]:
        widths = (stop - start for start, stop in pairwise(self.edges))
        return [amount * 1e9 / width for amount, width in zip(line, widths, strict=True)]

    def sums(self, title: str, unit: str, kind: type[Event]) -> Series:
        """How many of these events each node reported."""
        lines: dict[str, list[float]] = {}
        for record in of_kinds(self.history, kind):
            if record.t >= 0:
                lines.setdefault(record.node, [0.0] * self.count)[self.at(record)] += 1
        return Series(title, unit, "count", _sorted(lines.items()))

    def strikes(self) -> Series:
        """Without those that changed nothing in the end."""
        missed = Counter[tuple[str, str]]()
        for late in of_kind(self.history, FaultMissed):
            missed[late.event.fault, late.event.target] += late.event.strikes
        lines: dict[str, list[float]] = {}
        for record in sorted(of_kind(self.history, FaultStruck), key=_time, reverse=True):
            event = record.event
            if record.t >= 0:
                if missed[event.fault, event.target] > 0:
                    missed[event.fault, event.target] -= 1
                else:
                    lines.setdefault(event.target, [0.0] * self.count)[self.at(record)] += 1
        return Series("hits of faults", "hits", "count", _sorted(lines.items()))

    def sent_again(self, packet_ns: Mapping[str, float]) -> Series:
        """Where several packets left between two times, they left evenly. What is more than the links of a host carry
        in an interval waited in the host, and counts in the next one."""
        lines: dict[str, list[float]] = {}
        for node, since, until, packets in resent(self.history, packet_ns):
            line, done = lines.setdefault(node, [0.0] * self.count), 0
            for at in range(self._interval_of(since), self._interval_of(until) + 1):
                stop = until if at == self.count - 1 else min(until, self.edges[at + 1])
                upto = packets if stop >= until else packets * (stop - since) // (until - since)
                line[at] += upto - done
                done = upto
        for node, line in lines.items():
            if node in packet_ns:
                most = math.ceil(self.interval / packet_ns[node])
                for at in range(self.count - 1):
                    more = max(0.0, line[at] - most)
                    line[at] -= more
                    line[at + 1] += more
        return Series("packets sent again", "packets", "count", _sorted(lines.items()))

    def rates(self, title: str, unit: str, kind: type[Event]) -> Series:
        """By the second."""
        found = self.sums(title, unit, kind)
        return Series(title, unit, "rate", tuple((name, tuple(self._by_second(line))) for name, line in found.lines))

    def most(
        self, title: str, unit: str, kind: type[Event], of: Callable[[Record], Mapping[str, int] | None]
    ) -> Series:
        """What the looks of each interval found at most; without a look it is what the last one found. A name that a
        look leaves out had nothing."""
        lines: dict[str, list[float]] = {}
        last: Mapping[str, int] = {}
        upto = 0
        for record in self.in_time(kind):
            found = of(record) if record.t >= 0 else None
            if found is None:
                continue
            at = self.at(record)
            self._fill(lines, last, upto, at)
            last = {**last, **found} if isinstance(record.event, SwitchSampled) else found
            for name, amount in last.items():
                line = lines.setdefault(name, [0.0] * self.count)
                line[at] = max(line[at], amount)
            upto = max(upto, at + 1)
        self._fill(lines, last, upto, self.count)
        return Series(title, unit, "state", _sorted(lines.items()))

    @staticmethod
    def _fill(lines: Mapping[str, list[float]], last: Mapping[str, int], start: int, stop: int) -> None:
        for name, amount in last.items() if stop > start else ():
            lines[name][start:stop] = [amount] * (stop - start)

    def grown(
        self, title: str, unit: str, kind: type[Event], of: Callable[[Record], Mapping[str, int] | None]
    ) -> Series:
        """By how much counters grew from look to look, where the later one was. One that starts again starts at 0."""
        lines: dict[str, list[float]] = {}
        before: dict[str, int] = {}
        for record in self.in_time(kind):
            found = of(record) if record.t >= 0 else None
            for name, value in (found or {}).items():
                line, known = lines.setdefault(name, [0.0] * self.count), before.get(name, 0)
                line[self.at(record)] += value - known if value >= known else value
                before[name] = value
        return Series(title, unit, "count", _sorted(lines.items()))


def _time(record: Record) -> int:
    return record.t


def _sorted(lines: Iterable[tuple[str, list[float]]]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """h2 before h10."""
    return tuple(
        (name, tuple(line)) for name, line in sorted(lines, key=lambda item: (len(item[0]), item[0])) if any(line)
    )
