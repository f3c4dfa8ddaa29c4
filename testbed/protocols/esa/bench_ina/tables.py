"""The grid as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.protocols.esa.bench_ina.analysis import (
    Cells,
    Crossing,
    MemoryCell,
    Split,
    best_split,
    crossings,
    gain,
    leader_at,
)
from testbed.protocols.esa.bench_ina.cases import ATP, ESA, SWITCHML, InaCase, words_of
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


def mix_lines(cells: Cells, case: InaCase, width: int) -> Iterator[str]:
    """The table of one mix, of so many columns. Gains are ATP's, and SwitchML's, average JCT over the row's."""
    windows = case.windows
    sizes = sorted({memory for memory, _ in cells})
    seeds = max(len(cell.runs) for cell in cells.values())
    models, workers = ", ".join(map(words_of, case.jobs)), len(case.jobs[0].hosts)
    yield f"{case.mix}: {models}; {workers} workers each; SW = {windows:,} packets; medians of {amount(seeds, 'seed')}"
    rows = []
    for memory in sizes:
        for subject in case.subjects:
            rows.append(_row(cells, cells[memory, subject], case.slots(subject, memory), windows))
    yield from table_lines(_HEAD, rows, width, text=(_HEAD.index("protocol"),), keys=4, group=True)


def _row(cells: Cells, cell: MemoryCell, slots: int, windows: int) -> list[str]:
    def over(peer: str) -> str:
        return "-" if peer == cell.subject else f"{gain(cells[cell.memory, peer], cell):.2f}"

    return [
        f"{cell.memory:,}", f"{cell.memory / windows:.2f}", f"{slots:,}", cell.subject, f"{seconds(cell.jct_s)}",
        f"{cell.spread:.1%}", over(ATP), over(SWITCHML), f"{seconds(cell.middle('p95_jct_s'))}",
        f"{cell.middle('busy'):.1%}", f"{cell.middle('useful'):.1%}", f"{cell.middle('collisions'):,.0f}",
        f"{cell.middle('evictions'):,.0f}", f"{cell.middle('resends'):,.0f}",
        f"{byte_size(cell.middle('server_bytes'))}",
    ]  # fmt: skip


def crossing_lines(cells: Cells, windows: int) -> Iterator[str]:
    """Where orders change with memory."""
    for first, second in ((ATP, SWITCHML), (ESA, SWITCHML), (ESA, ATP)):
        found = crossings(cells, first, second)
        names = f"{first} and {second}"
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


def _leader(subject: str | None) -> str:
    return "level" if subject is None else f"{subject} faster"


def split_lines(cells: Cells, windows: int) -> Iterator[str]:
    """ESA's best gain over ATP, and what it is made of."""
    split = best_split(cells, sorted({memory for memory, _ in cells}))
    at = f"M = {split.memory} ({split.memory / windows:.2f} SW)"
    yield (
        f"best gain of ESA over ATP: {split.gain:.2f}x at {at}; the paper says up to {PAPER_GAIN}x, for its own setting"
    )
    yield f"  early release alone {split.early:.2f}x, priorities alone {split.priority:.2f}x; {shares(split)}"


def shares(split: Split) -> str:
    if split.early_share is None:
        return "no gain to share"
    return f"of the gain {split.early_share:.0%} is early release's, {1 - split.early_share:.0%} the priorities'"
