"""A timeline as one SVG without anything from outside: a lane per queue pair, rows of messages and slots per switch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from testbed.report.timeline.marks import draw_marks, legend_of
from testbed.report.timeline.model import Lane, MessageLife, Span, Timeline
from testbed.report.timeline.scale import show_time, ticks

__all__ = ["STATES", "timeline_svg"]

WIDTH, _LEFT, _RIGHT = 1280, 150, 16
_TOP, _QP, _ROW, _SLOT, _GAP, _FLIGHTS = 82, 34, 18, 14, 10, 4
_MOST_LANES, _MOST_ROWS, _MOST_SLOTS, _MOST_BARS = 64, 24, 16, 200
STATES = {
    "sending": ("#dbe9f8", "unacknowledged packets"),
    "retrying": ("#ffd9a8", "goes back, nothing new ACKed yet"),
    "rnr_wait": ("#fff0a3", "waits: receiver not ready"),
    "gap": ("#ffe3c2", "behind a gap"),
    "error": ("#c9ccd1", "queue pair failed"),
    "turn": ("#d5d9df", "iteration"),
    "flight": ("#8fb3da", "message posted .. ACKed"),
    "open": ("#f2b84b", "open: contributions missing"),
    "partial": ("#d6c46a", "partial: the rack's sum was sent up"),
    "done": ("#8ecb9a", "done: sum kept for replays"),
    "computing": ("#8ecb9a", "a node of a trace computes"),
    "communication": ("#8fb3da", "a node of a trace communicates"),
    "fault": ("#f3b4b4", "link or node disturbed"),
}
_CSS = (
    ".tl text{font:12px system-ui,sans-serif;fill:#1b1f24}.tl .s{font-size:10px;fill:#5c6670}"
    ".tl .n{font-size:10px}.tl .b{font-weight:600}"
)


class _Canvas:
    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.y = timeline, float(_TOP)
        self.parts: list[str] = []
        self.states: set[str] = set()
        self.kinds: set[str] = set()
        self.notes = list(timeline.notes)

    def x(self, t: int) -> float:
        start, stop = self.timeline.start, self.timeline.stop
        inner = WIDTH - _LEFT - _RIGHT
        return _LEFT + inner * (min(max(t, start), stop) - start) / max(1, stop - start)

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "") -> None:
        more = (f' class="{style}"' if style else "") + (f' text-anchor="{anchor}"' if anchor else "")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>')

    def bar(self, span: Span, y: float, height: float, *, edge: str = "") -> None:
        left, right = self.x(span.start), self.x(span.stop)
        self.states.add(span.state)
        stroke = f' stroke="{edge}"' if edge else ""
        self.parts.append(
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{max(0.8, right - left):.1f}" height="{height:.1f}" '
            f'fill="{STATES.get(span.state, STATES["turn"])[0]}"{stroke}><title>{escape(self.when(span))}</title></rect>'  # noqa: E501
        )

    def when(self, span: Span) -> str:
        whole = self.timeline.stop - self.timeline.start
        took = show_time(span.stop - span.start, span.stop - span.start)
        return f"{span.title}: {show_time(span.start, whole)} to {show_time(span.stop, whole)} ({took})"

    def label(self, lane: str, height: float, more: str = "") -> None:
        """The name of a lane, and a line under it."""
        self.text(10, self.y + height / 2 + (0 if more else 4), lane)
        if more:
            self.text(10, self.y + height / 2 + 12, more, "s")
        self.parts.append(
            f'<path d="M{_LEFT} {self.y + height:.1f}H{WIDTH - _RIGHT}" stroke="#e3e6ea" stroke-width="1"/>'
        )

    def head(self, title: str) -> None:
        self.y += _GAP
        self.text(10, self.y + 10, title, "b")
        self.y += 18


def timeline_svg(timeline: Timeline) -> str:
    """Marks that fall on the same place are one, whose tooltip counts them; what is left out, a line at the end
    says."""
    canvas = _Canvas(timeline)
    _head(canvas)
    _queue_pairs(canvas)
    for switch in timeline.switches:
        _messages(canvas, switch)
    _slots(canvas)
    bottom = canvas.y + 6
    if not timeline.traced:
        of_pairs = timeline.lanes_are == "queue pairs"
        what, steps = ("Messages only", "queue pairs and slots") if of_pairs else ("No steps", "slots")
        canvas.notes.append(f"{what}: a run with --set trace=true shows every step of {steps}.")
    for note in canvas.notes:
        canvas.y += 16
        canvas.text(10, canvas.y + 4, note, "s")
    height = canvas.y + 14
    lines = "".join((*_legend(canvas), *_axis(canvas, bottom), *canvas.parts))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tl" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="timeline of the run"><style>{_CSS}</style>'
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>{lines}</svg>\n'
    )


def _axis(canvas: _Canvas, bottom: float) -> Iterator[str]:
    timeline = canvas.timeline
    for t, text in ticks(timeline.start, timeline.stop, 12):
        x = canvas.x(t)
        yield f'<path d="M{x:.1f} {_TOP - 4}V{bottom:.0f}" stroke="#eef0f3" stroke-width="1"/>'
        if x < WIDTH - _RIGHT - 20:
            yield f'<text x="{x:.1f}" y="{_TOP - 9}" class="s" text-anchor="middle">{text}</text>'


def _legend(canvas: _Canvas) -> Iterator[str]:
    x, y = 10.0, 16.0
    entries = [
        (f'<rect width="14" height="9" y="-8" fill="{color}"/>', meaning)
        for state, (color, meaning) in STATES.items()
        if state in canvas.states
    ]
    for symbol, meaning in (*entries, *legend_of(canvas.kinds)):
        wide = 22 + 7.0 * len(meaning)
        if x + wide > WIDTH:
            x, y = 10.0, y + 17
        yield f'<g transform="translate({x:.0f} {y:.0f})">{symbol}<text x="19">{escape(meaning)}</text></g>'
        x += wide


def _marks(canvas: _Canvas, lane: Lane, y: float, height: float) -> None:
    canvas.kinds |= {mark.kind for mark in lane.marks}
    canvas.parts += draw_marks(lane.marks, canvas.x, y, height, canvas.timeline)


def _head(canvas: _Canvas) -> None:
    """Iterations, and faults of links and nodes."""
    turns = canvas.timeline.iterations
    if turns:
        canvas.label("iterations", _ROW)
        bare = len(turns) > _MOST_BARS
        for span in _merged(canvas, turns) if bare else turns:
            canvas.bar(span, canvas.y + 3, _ROW - 6, edge="#ffffff")
        canvas.y += _ROW
    lane = canvas.timeline.faults
    if not lane.marks and not lane.spans:
        return
    canvas.label("faults", _ROW)
    for span in lane.spans:
        canvas.bar(span, canvas.y + 2, _ROW - 4)
    _marks(canvas, lane, canvas.y, _ROW)
    canvas.y += _ROW


def _queue_pairs(canvas: _Canvas) -> None:
    lanes = canvas.timeline.qps[:_MOST_LANES]
    _note(canvas, len(canvas.timeline.qps) - len(lanes), canvas.timeline.lanes_are, "--host NAME")
    if lanes:
        canvas.head(canvas.timeline.lanes_are)
    for number, lane in enumerate(lanes):
        if number and lane.node != lanes[number - 1].node:
            canvas.y += 6
        canvas.label(lane.name, _QP, f"QP {lane.qpn:#x}" if lane.qpn >= 0 else "")
        states = _merged(canvas, [span for span in lane.spans if span.state != "flight"])
        for span in states:
            canvas.bar(span, canvas.y + 1, _QP - 2)
        flights = [span for span in lane.spans if span.state == "flight"]
        if len(flights) > _MOST_BARS:
            flights = _merged(canvas, flights)
        for row, span in enumerate(flights):
            canvas.bar(span, canvas.y + 3 + row % _FLIGHTS * 7, 5)
        _marks(canvas, lane, canvas.y, _QP)
        canvas.y += _QP


def _merged(canvas: _Canvas, spans: Iterable[Span]) -> list[Span]:
    """Spans of one state that begin within a pixel of the end of the one before become one; bounds what is drawn."""
    merged: dict[str, list[Span]] = {}
    for span in spans:
        row = merged.setdefault(span.state, [])
        if row and canvas.x(span.start) - canvas.x(row[-1].stop) < 1:
            row[-1] = Span(row[-1].start, max(row[-1].stop, span.stop), span.state, row[-1].title)
        else:
            row.append(span)
    return sorted((span for row in merged.values() for span in row), key=lambda span: span.start)


def _messages(canvas: _Canvas, switch: str) -> None:
    """Rows in which messages follow each other: open from the first packet to the sum, then done."""
    lives = [life for life in canvas.timeline.messages if life.node == switch]
    if not lives:
        return
    top = canvas.timeline.switch_marks.get(switch, [])
    rows = min(_MOST_ROWS, 1 + max(life.row for life in lives))
    shown = [life for life in lives if life.row < rows]
    _note(canvas, len(lives) - len(shown), f"messages of {switch}", "--from, --to")
    begin = "from the first packet" if canvas.timeline.traced else "from the first post of a host"
    end = "until its last slot is reclaimed" if canvas.timeline.traced else "until the last host has the result"
    canvas.head(f"messages in {switch}: {begin} to the sum, then {end}")
    top_y, row_of = canvas.y, {life.message: life.row for life in shown}
    for row in range(rows):
        canvas.label(f"row {row}" if rows > 1 else "messages", _ROW)
        canvas.y += _ROW
    many = len(shown) > _MOST_BARS
    for life in shown:
        _life(canvas, life, top_y + _ROW * life.row, bare=many)
    for row in range(rows):
        found = [mark for mark in top if row_of.get(mark.number) == row and mark.kind != "sum"]
        lane = Lane("", switch, marks=found)
        _marks(canvas, lane, top_y + _ROW * row, _ROW)
    adrift = [mark for mark in top if mark.number not in row_of and mark.kind != "sum"]
    if adrift:
        canvas.label("of no known message", _ROW)
        _marks(canvas, Lane("", switch, marks=adrift), canvas.y, _ROW)
        canvas.y += _ROW


def _life(canvas: _Canvas, life: MessageLife, y: float, *, bare: bool) -> None:
    stop = canvas.timeline.stop
    end = stop if life.gone is None else life.gone
    complete = life.complete
    counts = "".join(f", {count} {what}" for what, count in life.counts.items())
    name = f"message {life.message}{counts}"
    lost = " (lost with the switch)" if life.how == "lost" else ""
    if complete is None:
        title = f"{name}: never summed{lost}{f', {life.missing}' if life.missing else ''}"
        canvas.bar(Span(life.first, end, "open", title), y + 2, _ROW - 4, edge="#c81e1e")
    else:
        canvas.bar(Span(life.first, complete, "open", f"{name}: open"), y + 2, _ROW - 4)
        canvas.bar(Span(complete, end, "done", f"{name}: done{lost}"), y + 2, _ROW - 4)
    if not bare and canvas.x(end) - canvas.x(life.first) > 8 + 6 * len(str(life.message)):
        canvas.text(canvas.x(max(life.first, canvas.timeline.start)) + 3, y + 13, str(life.message), "n")


def _slots(canvas: _Canvas) -> None:
    """Those that were open longest."""
    slots = canvas.timeline.slots

    def opened(lane: Lane) -> int:
        return sum(span.stop - span.start for span in lane.spans if span.state == "open")

    keep = {id(lane) for lane in sorted(slots, key=lambda lane: -opened(lane))[:_MOST_SLOTS]}
    shown = [lane for lane in slots if id(lane) in keep]
    if not shown:
        return
    canvas.head("slots" if len(shown) == len(slots) else "slots that were open longest")
    _note(canvas, len(slots) - len(shown), "slots that were open for less time", "--slot N")
    for lane in shown:
        canvas.label(lane.name, _SLOT)
        for span in lane.spans:
            canvas.bar(span, canvas.y + 2, _SLOT - 4)
        _marks(canvas, Lane("", "", marks=[mark for mark in lane.marks if mark.kind in _SLOT_MARKS]), canvas.y, _SLOT)
        canvas.y += _SLOT


_SLOT_MARKS = {"replay", "ignored"}


def _note(canvas: _Canvas, count: int, what: str, how: str) -> None:
    if count > 0:
        canvas.notes.append(f"Left out: {count} {what} (tb timeline {how} shows them).")
