"""A timeline at several levels of detail, for a page: however long the run was, its size is bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from testbed.report.timeline.lanes import JOB, lanes_of
from testbed.report.timeline.marks import HIDDEN
from testbed.report.timeline.model import KINDS, Lane, Mark, MessageLife, Span, Timeline
from testbed.report.timeline.svg import STATES

__all__ = ["drawn_lanes", "lane_name", "timeline_data"]

_MOST, _FEW = 25_000, 5_000
"""items of the finest level, and how many a page draws at once without coarser levels"""
_OF_LANE = 6
"""items that each lane adds to these"""
_MOST_LANES = 5_000
_FINEST, _FACTOR = 1 << 14, 4
"""steps of the whole where the exact level has too many items; and the factor to fewer steps"""
_COARSER = 1 << 13, 1 << 10
"""steps of the whole at the coarser levels. A window has about as many pixels as the coarsest."""
_MOST_TEXT = 250_000
"""characters of all texts; above it, marks say only what they are"""
_SLOTS = "slots"


class _Item(NamedTuple):
    start: int
    stop: int
    what: str
    """state or kind"""
    times: int
    """spans or marks that it stands for"""
    first: Span | Mark


@dataclass(frozen=True, slots=True)
class _Row:
    spans: Sequence[_Item]
    marks: Sequence[_Item]


def drawn_lanes(timeline: Timeline, racks: Mapping[str, str]) -> list[tuple[str, Lane]]:
    """(group, lane); a group without a name does not fold. `racks`: switches by host, where hosts are folded."""
    lanes = list(lanes_of(timeline, _life))[:_MOST_LANES]
    return [(_group(lane, racks), lane) for lane in lanes]


def lane_name(lane: Lane) -> str:
    return lane.name if lane.node == JOB or lane.node in lane.name else f"{lane.node}: {lane.name}"


def _group(lane: Lane, racks: Mapping[str, str]) -> str:
    if lane.slot >= 0:
        return _SLOTS
    if not racks or lane.node == JOB:
        return ""
    return f"rack of {racks[lane.node]}" if lane.node in racks else "switches"


def _life(life: MessageLife) -> Iterator[Span]:
    end = life.last if life.gone is None else life.gone
    name = f"message {life.message}{''.join(f', {count} {what}' for what, count in life.counts.items())}"
    if life.complete is None:
        yield Span(life.first, end, "open", f"{name}: never summed{f', {life.missing}' if life.missing else ''}")
    else:
        yield Span(life.first, life.complete, "open", f"{name}: open")
        yield Span(life.complete, end, "done", f"{name}: done")


def timeline_data(timeline: Timeline, lanes: Sequence[tuple[str, Lane]]) -> dict[str, Any]:
    """For the script of the page. Numbers of spans: start after the start before, length, state, count, text; of marks:
    time after the time before, kind, count, text."""
    levels = list(_levels(timeline, [lane for _, lane in lanes]))
    texts = _Texts(item for _, rows in levels for row in rows for item in (*row.spans, *row.marks))
    states, kinds = list(STATES), list(KINDS)
    return {
        "lanes": [[group, lane_name(lane)] for group, lane in lanes],
        "states": list(STATES.values()),
        "kinds": [[kind.color, kind.meaning, kind.trouble, kind.glyph] for kind in KINDS.values()],
        "levels": [
            {
                "step_s": step / 1e9,
                "spans": [_numbers(row.spans, states, texts, long=True) for row in rows],
                "marks": [_numbers(row.marks, kinds, texts, long=False) for row in rows],
            }
            for step, rows in levels
        ],
        "texts": texts.all,
    }


def _row(lane: Lane, step: int) -> _Row:
    """`step`: 0 is exact."""
    spans = [_Item(span.start, span.stop, span.state, 1, span) for span in sorted(lane.spans, key=_start)]
    marks = [mark for mark in lane.marks if mark.kind not in HIDDEN]
    if not step:
        return _Row(spans, [_Item(mark.t, mark.t, mark.kind, 1, mark) for mark in marks])
    firsts, times = dict[tuple[str, int], Mark](), dict[tuple[str, int], int]()
    for mark in marks:  # as `_gathered`, of many more
        key = mark.kind, mark.t // step
        if key in times:
            times[key] += 1
        else:
            firsts[key], times[key] = mark, 1
    found = (_Item(mark.t, mark.t, mark.kind, times[key], mark) for key, mark in firsts.items())
    return _Row(_joined(spans, step), sorted(found, key=_item_start))


def _start(span: Span) -> int:
    return span.start


def _item_start(item: _Item) -> int:
    return item.start


def _text(of: Span | Mark) -> str:
    if isinstance(of, Span):
        return of.title
    return " ".join(filter(None, (of.label, f"{of.number}" if of.number >= 0 else "", of.detail)))


def _levels(timeline: Timeline, lanes: Sequence[Lane]) -> Iterator[tuple[int, list[_Row]]]:
    """(step in ns, rows), the finest first."""
    whole, more = max(1, timeline.stop - timeline.start), _OF_LANE * len(lanes)
    step = -(-whole // _FINEST) if sum(len(lane.spans) + len(lane.marks) for lane in lanes) > _MOST + more else 0
    rows = [_row(lane, step) for lane in lanes]
    while step < whole and _count(rows) > _MOST + more:
        step *= _FACTOR
        rows = _at(rows, step)
    yield step, rows
    for steps in _COARSER:
        if _count(rows) > _FEW + more and whole // steps > 2 * step:
            step = whole // steps
            rows = _at(rows, step)
            yield step, rows


def _count(rows: Iterable[_Row]) -> int:
    return sum(len(row.spans) + len(row.marks) for row in rows)


def _at(rows: Iterable[_Row], step: int) -> list[_Row]:
    return [_Row(_joined(row.spans, step), _gathered(row.marks, step)) for row in rows]


def _joined(spans: Iterable[_Item], step: int) -> list[_Item]:
    """A span shorter than a step joins the one before of its state, if the gap is shorter, too."""
    last, found = dict[str, int](), list[_Item]()
    stops, times = list[int](), list[int]()
    for span in spans:
        start, stop, what, count, _ = span
        at = last.get(what, -1)
        if at >= 0 and stop - start < step and start - stops[at] < step:
            stops[at] = max(stops[at], stop)
            times[at] += count
        else:
            last[what] = len(found)
            found.append(span)
            stops.append(stop)
            times.append(count)
    for at, (span, count) in enumerate(zip(found, times, strict=True)):
        if span.times != count:
            found[at] = _Item(span.start, stops[at], span.what, count, span.first)
    return found


def _gathered(marks: Iterable[_Item], step: int) -> list[_Item]:
    """Those of a kind in one step are one. Most marks of a level are alone in their step, and stay as they are."""
    firsts, times = dict[tuple[str, int], _Item](), dict[tuple[str, int], int]()
    for mark in marks:
        key = mark.what, mark.start // step
        if key in times:
            times[key] += mark.times
        else:
            firsts[key], times[key] = mark, mark.times
    for key, mark in firsts.items():
        if times[key] != mark.times:
            firsts[key] = _Item(mark.start, mark.stop, mark.what, times[key], mark.first)
    return sorted(firsts.values(), key=_item_start)


class _Texts:
    """Each text once."""

    def __init__(self, items: Iterable[_Item]) -> None:
        found = dict.fromkeys(_text(item.first) for item in items)
        self.all = list(found) if sum(map(len, found)) <= _MOST_TEXT else []
        self._numbers = {text: number for number, text in enumerate(self.all)}

    def number(self, item: _Item) -> int:
        """-1: texts are left out."""
        return self._numbers.get(_text(item.first), -1)


def _numbers(items: Iterable[_Item], names: Sequence[str], texts: _Texts, *, long: bool) -> list[int]:
    found, before = list[int](), 0
    for item in items:
        found += (item.start - before, *((item.stop - item.start,) if long else ()))
        found += (names.index(item.what), item.times, texts.number(item))
        before = item.start
    return found
