"""A timeline as text: an overview (lanes over time), then each lane in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from testbed.report.timeline.model import KINDS, Lane, Mark, MessageLife, Timeline
from testbed.report.timeline.scale import show_time, ticks
from testbed.terminal.folding import fold, fold_lines
from testbed.terminal.numbers import nanoseconds
from testbed.terminal.words import amount
from testbed.terminal.words import times as often

__all__ = ["timeline_text"]

_WIDTH = 120
_NAME = 20
_LEAST = 60
"""columns that the lanes and their times need"""
_BINS = 24
"""stretches of the range in which a lane is printed"""
_LINES_PER_BIN = 5
"""a stretch that would take more is summed up in one line"""
_FEW = 60
"""marks of a lane up to which ordinary steps are printed one by one"""
_MOST_LANES, _MOST_MESSAGES, _MOST_SLOTS, _MOST_DETAILS = 16, 64, 3, 4
_PLAIN = ("post", "ACK", "result")
"""labels of what goes on when all is well: they share lines, and say no more than the messages"""
_WEIGHT = {kind: weight for weight, kind in enumerate(KINDS)}


def timeline_text(timeline: Timeline, width: int = _WIDTH) -> str:
    """Of `width` columns; where that is less than 60, of 60."""
    width = max(width, _LEAST)
    lines = [*fold_lines(_head(timeline, width), width), "", *_overview(timeline, width)]
    shown = timeline.qps
    if len(shown) > _MOST_LANES:
        keep = sorted(shown, key=lambda lane: -sum(KINDS[mark.kind].trouble for mark in lane.marks))[:_MOST_LANES]
        shown = [lane for lane in shown if any(lane is kept for kept in keep)]
    for lane in (timeline.faults, *shown):
        if lane.marks or lane is not timeline.faults:
            lines += ["", *_lane(lane, timeline, width)]
    lines += _left_out(len(timeline.qps) - len(shown), f"{timeline.lanes_are} with less trouble", "--host NAME")
    for switch in timeline.switches:
        lives = [life for life in timeline.messages if life.node == switch]
        if lives:
            lines += ["", *_messages(switch, lives, timeline, width)]
    lines += _slots(timeline, width)
    return "\n".join(line.rstrip() for line in (*lines, *fold_lines(_tail(timeline), width))) + "\n"


def _head(timeline: Timeline, width: int) -> Iterator[str]:
    span = timeline.stop - timeline.start
    yield (
        f"{amount(len(timeline.hosts), 'host')}, {', '.join(timeline.switches) or 'no switch'}; "
        f"{show_time(timeline.start, span)} to {show_time(timeline.stop, span)}, a column is "
        f"{nanoseconds(span / _room(width))}"
    )


def _tail(timeline: Timeline) -> Iterator[str]:
    notes = list(timeline.notes)
    if not timeline.traced:
        of_pairs = timeline.lanes_are == "queue pairs"
        what, steps = ("messages only", "queue pairs and slots") if of_pairs else ("no steps", "slots")
        notes.append(f"{what}: a run with `--set trace=true` records every step of {steps}")
    if notes:
        yield ""
    yield from (f"note: {note}" for note in notes)


def _overview(timeline: Timeline, width: int) -> Iterator[str]:
    rows = [(lane.name, lane.marks) for lane in timeline.qps]
    rows += [(f"{switch} messages", marks) for switch, marks in timeline.switch_marks.items() if marks]
    faults = timeline.faults
    used = {mark.kind for _, marks in (("", faults.marks), *rows) for mark in marks}
    legend = [f"{kind.glyph} {kind.meaning}" for name, kind in KINDS.items() if name in used]
    legend += ["# while a link or node is disturbed"] if faults.spans else []
    line = ""
    for entry in (*legend, ". nothing"):
        if len(line) + len(entry) + 3 > width:
            yield line
            line = ""
        line += ("   " if line else "") + entry
    yield line
    room = _room(width)
    yield from _axis(timeline, room)
    if faults.marks or faults.spans:
        glyphs = list(_glyphs(faults.marks, timeline, room))
        for span in faults.spans:
            for at in range(_column(span.start, timeline, room), _column(span.stop, timeline, room) + 1):
                glyphs[at] = "#" if glyphs[at] == "." else glyphs[at]
        yield f"{'faults':{_NAME}}  {''.join(glyphs)}"
    for name, marks in rows:
        yield f"{name:{_NAME}}  {_glyphs(marks, timeline, room)}"


def _room(width: int) -> int:
    """Columns of the lanes."""
    return width - _NAME - 2


def _column(t: int, timeline: Timeline, room: int) -> int:
    return max(0, min(room - 1, (t - timeline.start) * room // (timeline.stop - timeline.start)))


def _axis(timeline: Timeline, room: int) -> Iterator[str]:
    names, line = [" "] * (room + 12), ["-"] * room
    for t, text in ticks(timeline.start, timeline.stop, max(3, room // 14)):
        at = _column(t, timeline, room)
        line[at] = "+"
        if at + len(text) <= room:
            names[at : at + len(text)] = text
    yield " " * (_NAME + 2) + "".join(names).rstrip()
    yield " " * (_NAME + 2) + "".join(line)


def _glyphs(marks: Iterable[Mark], timeline: Timeline, room: int) -> str:
    best: dict[int, str] = {}
    for mark in marks:
        at = _column(mark.t, timeline, room)
        if at not in best or _WEIGHT[mark.kind] < _WEIGHT[best[at]]:
            best[at] = mark.kind
    return "".join(KINDS[best[at]].glyph if at in best else "." for at in range(room))


def _lane(lane: Lane, timeline: Timeline, width: int) -> Iterator[str]:
    qpn = f" (QP {lane.qpn:#x})" if lane.qpn >= 0 else ""
    role = "" if not qpn else ", sends" if " -> " in lane.name else ", receives"
    states = [span for span in lane.spans if span.state in ("retrying", "rnr_wait", "gap")]
    spent = sum(min(span.stop, timeline.stop) - max(span.start, timeline.start) for span in states)
    share = f"; {show_time(spent, spent)} behind a gap" if spent else ""
    yield f"{lane.name}{qpn}{role}{share}"
    if not lane.marks:
        yield "    nothing"
        return
    marks = lane.marks
    if len(marks) > _FEW:
        marks = [mark for mark in marks if mark.kind != "step"]
    span = timeline.stop - timeline.start
    quiet = span // 10
    before = timeline.start
    for _, chunk in groupby(marks, key=lambda mark: (mark.t - timeline.start) * _BINS // span):
        for first, last, text in _tell(list(chunk)):
            if first - before > quiet:
                yield f"{'':12}    ~ {show_time(first - before, span)} nothing ~"
            before = last
            yield from _wrap(f"{show_time(first, span):>15} ", text, width)
    if timeline.stop - before > quiet:
        yield f"{'':12}    ~ {show_time(timeline.stop - before, span)} nothing ~"
    if len(marks) < len(lane.marks):
        yield (
            f"{'':12}    ({len(lane.marks) - len(marks)} ordinary steps: --from, --to around {_FEW} of them shows each)"
        )


def _wrap(head: str, text: str, width: int) -> list[str]:
    return fold(text, width, head, " " * (len(head) + 2))


def _tell(marks: Sequence[Mark]) -> list[tuple[int, int, str]]:
    """(first time, last time, text) of the lines that say it: one per group, or one for all when they would be many."""
    groups: list[list[list[Mark]]] = []
    """lines of groups; harmless groups that follow each other share a line"""
    for _, found in groupby(marks, key=lambda mark: (mark.kind, mark.label)):
        group = list(found)
        if group[0].label in _PLAIN and groups and groups[-1][-1][0].label in _PLAIN:
            groups[-1].append(group)
        else:
            groups.append([group])
    if len(groups) <= _LINES_PER_BIN:
        return [(line[0][0].t, line[-1][-1].t, _sentence(line)) for line in groups]
    return [(marks[0].t, marks[-1].t, "; ".join(_sums(marks)))]


def _sentence(line: Sequence[Sequence[Mark]]) -> str:
    """One line of groups, each label once."""
    merged: dict[str, list[Mark]] = {}
    for group in line:
        merged.setdefault(group[0].label, []).extend(group)
    return ", ".join(_group(marks) for marks in merged.values())


def _group(marks: Sequence[Mark]) -> str:
    times = f" {often(len(marks))}" if len(marks) > 1 and marks[0].label not in _PLAIN else ""
    details = list(dict.fromkeys(mark.detail for mark in marks if mark.detail))
    detail = ", ".join(details) if len(details) <= _MOST_DETAILS else f"{details[0]} .. {details[-1]}"
    return f"{marks[0].label}{times}{_numbers(marks)} {detail}".rstrip()


def _numbers(marks: Sequence[Mark]) -> str:
    numbers = [mark.number for mark in marks if mark.number >= 0]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    what = "" if marks[0].label in _PLAIN else " message"
    return f"{what} {low}" if low == high else f"{what} {low}..{high}"


def _sums(marks: Sequence[Mark]) -> Iterator[str]:
    """Each kind of thing with how often it was: troubles first."""
    labels: dict[str, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: _WEIGHT[mark.kind]):
        labels.setdefault(mark.label, []).append(mark)
    for label, found in labels.items():
        times = "" if len(found) == 1 or label in _PLAIN else f"{often(len(found))} "
        yield f"{times}{label}{_numbers(found)}"


def _messages(switch: str, lives: Sequence[MessageLife], timeline: Timeline, width: int) -> Iterator[str]:
    span = timeline.stop - timeline.start
    begin = "first packet" if timeline.traced else "first posted"
    end = "reclaimed" if timeline.traced else "all received"
    shown = lives
    if len(lives) > _MOST_MESSAGES:
        worst = sorted(
            lives, key=lambda life: (-sum(life.counts.values()), life.first - (life.complete or timeline.stop))
        )
        keep = {id(life) for life in worst[:_MOST_MESSAGES]}
        shown = [life for life in lives if id(life) in keep]
    yield f"messages in {switch}"
    wide, less = (15, 13) if width >= _WIDTH else (12, 11)
    first_column = 10 if width >= _WIDTH else 7
    yield f"{'message':>{first_column}} {begin:>{wide}} {'sum':>{wide}} {'took':>{less}} {end:>{wide}}  troubles"
    for life in shown:
        done = "never" if life.complete is None else show_time(life.complete, span)
        took = show_time((timeline.stop if life.complete is None else life.complete) - life.first, span)
        gone = "-" if life.gone is None else "lost" if life.how == "lost" else show_time(life.gone, span)
        trouble = ", ".join(f"{count} {what}" for what, count in life.counts.items())
        trouble = "; ".join(part for part in (life.missing, trouble) if part)
        first = show_time(life.first, span)
        head = f"{life.message:>{first_column}} {first:>{wide}} {done:>{wide}} {took:>{less}} {gone:>{wide}}  "
        yield from _wrap(head, trouble, width)
    yield from _left_out(len(lives) - len(shown), "messages with less trouble", "--from TIME --to TIME")


def _slots(timeline: Timeline, width: int) -> Iterator[str]:
    """The slots that were open longest."""
    if not timeline.slots:
        return
    keep = sorted(timeline.slots, key=lambda lane: -_open_ns(lane))[:_MOST_SLOTS]
    for lane in timeline.slots:
        if any(lane is kept for kept in keep):
            opened = _open_ns(lane)
            yield ""
            first, *rest = _lane(lane, timeline, width)
            yield f"{first}; open for {show_time(opened, opened)} in all"
            yield from rest
    yield from _left_out(len(timeline.slots) - len(keep), "slots that were open for less time", "--slot N")


def _open_ns(lane: Lane) -> int:
    return sum(span.stop - span.start for span in lane.spans if span.state == "open")


def _left_out(count: int, what: str, how: str) -> list[str]:
    return [f"    left out: {count} {what} ({how} shows them)"] if count > 0 else []
