"""The network of a run in its page: the topology as a picture, with links that lost packets in red. It shows what each
link carried and lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from testbed.drawing.picture import picture_of
from testbed.drawing.svg import draw_svg
from testbed.faults.events import FaultStruck
from testbed.history import Record, of_kind
from testbed.history.events import ShapingMeasured
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import byte_size
from testbed.terminal.words import amount

__all__ = ["network_html"]

_MOST_ROWS = 200


def network_html(scenario: Scenario, history: Sequence[Record]) -> str:
    struck = Counter((record.event.target, record.event.direction) for record in of_kind(history, FaultStruck))
    picture = picture_of(scenario)
    lines = []
    for line, link in zip(picture.lines, scenario.topology.links, strict=True):  # two nodes may have several links
        lost = sum(count for (target, _), count in struck.items() if target == link.name)
        lines.append(replace(line, usual=not lost, label=f"{lost:,} hit" if lost else line.label))
    drawing = draw_svg(replace(picture, lines=tuple(lines)))
    return f'<h2>Network</h2>\n<div class="wide">{drawing}</div>\n{_table(history, struck)}\n'


def _table(history: Sequence[Record], struck: Counter[tuple[str, str]]) -> str:
    """One row for each direction that was measured."""
    measured = [record.event for record in of_kind(history, ShapingMeasured)]
    if not measured:
        return '<p class="dim">What each link carried was not measured: the run did not end.</p>'
    counts = "hit by faults", "dropped by its queue", "dropped early by class", "trimmed by it", "marked"
    head = "".join(f"<td><b>{name}</b></td>" for name in ("link", "direction", "carried", *counts))
    rows = "".join(
        f"<tr><td>{escape(each.link)}</td><td>{escape(str(each.direction))}</td><td>{byte_size(each.bytes)}</td>"
        f"<td>{struck[each.link, str(each.direction)]:,}</td><td>{each.drops:,}</td><td>{each.early:,}</td>"
        f"<td>{each.trimmed:,}</td><td>{each.marks:,}</td></tr>"
        for each in measured[:_MOST_ROWS]
    )
    more = len(measured) - _MOST_ROWS
    rest = f'<p class="dim">and {amount(more, "more direction")}</p>' if more > 0 else ""
    return f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>{rest}'
