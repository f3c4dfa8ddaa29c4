"""The grid as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.bench.ina.analysis import Cell, Cells, Crossing, Split, best_split, crossings, gain, leader_at
from testbed.bench.ina.place import Place, Point
from testbed.bench.ina.subjects import ATP, ESA, MIXES, SUBJECTS, SWITCHML, Subject
from testbed.terminal.numbers import byte_size, seconds
from testbed.terminal.tables import table_lines
from testbed.terminal.words import amount

__all__ = ["PAPER_GAIN", "crossing_lines", "mix_lines", "split_lines"]

PAPER_GAIN = 1.35
"""ESA's abstract (arXiv 2201.06398): average JCT better than existing in-network aggregation by up to that"""
_HEAD = (
    "M", "M/SW", "slots", "protocol", "avg JCT", "spread", "x ATP", "x SwitchML", "p95 JCT", "busy", "useful",
    "collided", "evicted", "resent", "PS in",
)  # fmt: skip


def mix_lines(cells: Cells, place: Place, mix: str, width: int) -> Iterator[str]:
    """The table of one mix, of so many columns. Gains are ATP's, and SwitchML's, average JCT over the row's."""
    jobs, windows = MIXES[mix].jobs, place.windows(MIXES[mix])
    sizes = sorted({memory for memory, _ in cells})
    seeds = max(len(cell.runs) for cell in cells.values())
    models = ", ".join(f"{part.model} ({part.ratio:g})" for part in jobs)
    yield f"{mix}: {models}; {place.workers} workers each; SW = {windows:,} packets; medians of {amount(seeds, 'seed')}"
    rows = []
    for memory in sizes:
        for subject in SUBJECTS:
            if (memory, subject) in cells:
                slots = Point(place, mix, subject, memory, 0).indices()
                rows.append(_row(cells, cells[memory, subject], slots, windows))
    yield from table_lines(_HEAD, rows, width, text=(_HEAD.index("protocol"),), keys=4, group=True)


def _row(cells: Cells, cell: Cell, slots: int, windows: int) -> list[str]:
    def over(peer: Subject) -> str:
        other = cells.get((cell.memory, peer))
        return "-" if other is None or peer is cell.subject else f"{gain(other, cell):.2f}"

    return [
        f"{cell.memory:,}", f"{cell.memory / windows:.2f}", f"{slots:,}", cell.subject.name, f"{seconds(cell.jct_s)}",
        f"{cell.spread:.1%}", over(ATP), over(SWITCHML), f"{seconds(cell.middle('p95_jct_s'))}",
        f"{cell.middle('busy'):.1%}", f"{cell.middle('useful'):.1%}", f"{cell.middle('collisions'):,.0f}",
        f"{cell.middle('evictions'):,.0f}", f"{cell.middle('resends'):,.0f}",
        f"{byte_size(cell.middle('server_bytes'))}",
    ]  # fmt: skip


def crossing_lines(cells: Cells, place: Place, mix: str) -> Iterator[str]:
    """Where orders change with memory."""
    windows = place.windows(MIXES[mix])
    for first, second in ((ATP, SWITCHML), (ESA, SWITCHML), (ESA, ATP)):
        found = crossings(cells, first, second)
        names = f"{first.name} and {second.name}"
        if found:
            yield f"{names}: {_leader(found[0].before)}" + "".join(_step(crossing, windows) for crossing in found)
            continue
        leader = leader_at(cells, min(memory for memory, _ in cells), first, second)
        yield f"{names}: {_leader(leader)} at all sizes"


def _step(crossing: Crossing, windows: int) -> str:
    sizes = f"{crossing.low} and {crossing.high}"
    if crossing.memory is None:
        where = f"somewhere between M = {sizes} ({crossing.low / windows:.2f} and {crossing.high / windows:.2f} SW)"
    else:
        where = f"M = about {crossing.memory:.0f} ({crossing.memory / windows:.2f} SW; between {sizes})"
    return f"; from {where} on {_leader(crossing.after)}"


def _leader(subject: Subject | None) -> str:
    return "level" if subject is None else f"{subject.name} faster"


def split_lines(cells: Cells, place: Place, mix: str) -> Iterator[str]:
    """ESA's best gain over ATP, and what it is made of."""
    split = best_split(cells, sorted({memory for memory, _ in cells}))
    at = f"M = {split.memory} ({split.memory / place.windows(MIXES[mix]):.2f} SW)"
    yield (
        f"best gain of ESA over ATP: {split.gain:.2f}x at {at}; the paper says up to {PAPER_GAIN}x, for its own setting"
    )
    yield f"  early release alone {split.early:.2f}x, priorities alone {split.priority:.2f}x; {shares(split)}"


def shares(split: Split) -> str:
    if split.early_share is None:
        return "no gain to share"
    return f"of the gain {split.early_share:.0%} is early release's, {1 - split.early_share:.0%} the priorities'"
