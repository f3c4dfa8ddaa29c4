"""What each direction of a link carried and lost, how busy it was and how many frames waited for it: a table by
utilisation, by rack in large topologies, and the lines of the chart of a chosen link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from testbed.faults.events import FaultStruck
from testbed.figures.bandwidth import others_since, utilisation
from testbed.figures.over_time import OverTime
from testbed.history import Record, of_kind
from testbed.history.events import ShapingMeasured
from testbed.report.charts import doubled, rounded, wider
from testbed.scenario.model import Scenario
from testbed.terminal.numbers import bits_per_second, byte_size
from testbed.terminal.words import amount
from topologies import Direction, Role

__all__ = ["links_data", "links_html"]

_MOST_FINE = 64
"""links with the finer level of detail"""
_COUNTS = "hit by faults", "dropped by its queue", "dropped early by class", "trimmed by it", "marked"


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    rack: str
    measured: ShapingMeasured
    utilisation: float | None
    waited: float | None
    """most frames; None: the world did not look there"""
    hit: int

    @property
    def weight(self) -> tuple[float, float]:
        """Sorts the busiest first."""
        return -(self.utilisation or 0.0), -(self.waited or 0.0)

    @property
    def cells(self) -> Iterator[str]:
        found = self.measured
        yield bits_per_second(found.rate_bps)
        yield "unknown" if self.utilisation is None else f"{self.utilisation:.1%}"
        yield byte_size(found.bytes)
        yield "not sampled" if self.waited is None else f"{self.waited:,.0f}"
        yield from (f"{count:,}" for count in (self.hit, found.drops, found.early, found.trimmed, found.marks))


def links_html(
    scenario: Scenario,
    history: Sequence[Record],
    found: OverTime | None,
    duration_s: float | None,
    racks: Mapping[str, str],
) -> str:
    """`duration_s`: of the job; None: it is not known or not trusted, and no utilisation is."""
    rows = sorted(
        _rows(scenario, history, found, duration_s, racks),
        key=lambda row: (-(row.utilisation or 0), -(row.waited or 0)),
    )
    if not rows:
        return '<h2>Links</h2>\n<p class="dim">What each link carried was not measured: the run did not end.</p>\n'
    charted = set() if found is None else set(_lines(scenario, found))
    chosen = max((row for row in rows if row.name in charted), key=lambda row: row.waited or 0, default=rows[0]).name
    parts = {rack: [row for row in rows if row.rack == rack] for rack in dict.fromkeys(row.rack for row in rows)}
    if list(parts) == [""]:
        tables = _table(rows, charted, chosen)
    else:
        order = sorted(parts, key=lambda rack: (rack != "", parts[rack][0].weight))
        tables = "\n".join(
            f"<details><summary>{escape(_summary(rack, parts[rack]))}</summary>"
            f"{_table(parts[rack], charted, chosen)}</details>"
            for rack in order
        )
    place = '<figure class="chart"><figcaption id="link"></figcaption><div id="link-chart" class="plot"></div></figure>'
    return f"<h2>Links</h2>\n<p>{escape(_busiest(rows))}</p>\n{tables}\n{place if charted else ''}\n"


def links_data(scenario: Scenario, found: OverTime | None) -> dict[str, Any]:
    """For the script of the page: by link and direction, the frames that waited and what a host received."""
    if found is None:
        return {}
    lines = _lines(scenario, found)
    return {name: {what: _levels(parts, what, len(lines)) for what in parts} for name, parts in lines.items()}


def _levels(parts: Mapping[str, Sequence[float]], what: str, links: int) -> dict[str, list[float]]:
    """Both are points of one chart, so that a rate has as many as a state next to it."""
    coarse = wider(parts[what], "state" if what == "waiting" else "rate")
    if what == "received" and "waiting" in parts:
        coarse = doubled(coarse)
    return {"coarse": rounded(coarse)} | ({"fine": rounded(parts[what])} if links <= _MOST_FINE else {})


def _lines(scenario: Scenario, found: OverTime) -> dict[str, dict[str, Sequence[float]]]:
    lines: dict[str, dict[str, Sequence[float]]] = {
        name: {"waiting": values} for name, values in found.of("frames waiting in queues").items()
    }
    for host, values in found.of("received over links").items():
        ports = list(scenario.topology.ports(host))
        if len(ports) == 1:
            ((_, link, _),) = ports
            lines.setdefault(f"{link.name} {_into(link.a == host)}", {})["received"] = values
    return lines


def _into(at_first_end: bool) -> Direction:
    return Direction.DOWN if at_first_end else Direction.UP


def _rows(
    scenario: Scenario,
    history: Sequence[Record],
    found: OverTime | None,
    duration_s: float | None,
    racks: Mapping[str, str],
) -> Iterator[_Row]:
    hits = Counter((record.event.target, record.event.direction) for record in of_kind(history, FaultStruck))
    waiting = {} if found is None else found.of("frames waiting in queues")
    others_ns = others_since(history, bool(scenario.background))
    looked = found is not None and bool(found.sampled_ns)
    for record in of_kind(history, ShapingMeasured):
        event = record.event
        link, name = scenario.topology.link(event.link), f"{event.link} {event.direction}"
        source = link.a if event.direction == Direction.UP else link.b
        at_switch = looked and scenario.topology.node(source).role is not Role.HOST
        yield _Row(
            name,
            racks.get(link.a, racks.get(link.b, "")),
            event,
            utilisation(record, others_ns, duration_s),
            max(waiting.get(name, (0.0,))) if at_switch else None,
            hits[event.link, str(event.direction)],
        )


def _busiest(rows: Sequence[_Row]) -> str:
    row, longest = rows[0], max(rows, key=lambda row: row.waited or 0)
    text = "How busy the links were is not known."
    if row.utilisation is not None:
        text = f"{row.name} was busiest: {row.utilisation:.1%} of {bits_per_second(row.measured.rate_bps)}."
    if longest.waited:
        text += f" The longest queue was that of {longest.name}: {amount(int(longest.waited), 'frame')}."
    return text


def _summary(rack: str, rows: Sequence[_Row]) -> str:
    head = f"Rack of {rack}" if rack else "Between switches"
    return f"{head}, {amount(len(rows), 'direction')}. {_busiest(rows)}"


def _table(rows: Sequence[_Row], charted: set[str], chosen: str) -> str:
    names = "link and direction", "rate", "utilisation", "carried", "most frames waiting", *_COUNTS
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{_choice(row.name, row.name == chosen) if row.name in charted else escape(row.name)}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in row.cells)}</tr>"
        for row in rows
    )
    return f'<div class="wide"><table class="links"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _choice(name: str, is_chosen: bool) -> str:
    shown, checked = escape(name), " checked" if is_chosen else ""
    return f'<label><input type="radio" name="link" value="{shown}"{checked}>{shown}</label>'
