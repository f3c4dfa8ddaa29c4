"""Where nodes stand: one row per tier, hosts at the bottom in groups by their switch, every switch above what hangs on
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.drawing.picture import Picture, PicturePoint

__all__ = ["NODE_HEIGHT", "NODE_WIDTH", "ROW_HEIGHT", "Spots", "place"]

NODE_WIDTH, NODE_HEIGHT = 84, 40
ROW_HEIGHT = 130
_GAP, _RACK_GAP = 12, 30

Spots = Mapping[str, tuple[float, float]]
"""middle of each node; x to the right, y downwards, in pixels"""


def place(picture: Picture) -> Spots:
    """The leftmost middle is at x = 0, the top row at y = 0."""
    rows: dict[int, list[PicturePoint]] = {}
    for point in picture.points:
        rows.setdefault(point.tier, []).append(point)
    top = max(rows)
    x = _place_hosts(picture, rows[0])
    for tier in sorted(rows)[1:]:
        wished = {point.name: _middle(picture, point.name, x, rows[tier]) for point in rows[tier]}
        order = sorted(rows[tier], key=lambda point: wished[point.name])
        least = NODE_WIDTH + 2 * _GAP
        apart = max(least, 0.6 * (max(x.values()) - min(x.values())) / len(order)) if tier == top else least
        x |= dict(zip((p.name for p in order), _spread([wished[p.name] for p in order], apart), strict=True))
    left = min(x.values())
    return {point.name: (x[point.name] - left, float((top - point.tier) * ROW_HEIGHT)) for point in picture.points}


def _place_hosts(picture: Picture, hosts: Sequence[PicturePoint]) -> dict[str, float]:
    """In their order, but those of one switch side by side."""
    home = {line.a: line.b for line in picture.lines}
    order = list(dict.fromkeys(home[host.name] for host in hosts))
    x, at, before = dict[str, float](), 0.0, order[0]
    for host in sorted(hosts, key=lambda host: order.index(home[host.name])):
        if home[host.name] != before:
            # A switch may be wider than the one host that hangs on it.
            at += _RACK_GAP
            before = home[host.name]
        x[host.name] = at
        at += NODE_WIDTH + _GAP
    return x


def _middle(picture: Picture, name: str, x: Mapping[str, float], row: Sequence[PicturePoint]) -> float:
    """Of the neighbours that stand already; without any, of those in the same row that have some."""
    near = [line.b if line.a == name else line.a for line in picture.lines if name in (line.a, line.b)]
    below = [x[other] for other in near if other in x]
    return sum(below) / len(below) if below else max(x.values())


def _spread(wished: Sequence[float], apart: float) -> list[float]:
    """At least `apart` from each other, in order, and as near as that allows to what is wished. This is least squares:
    pools of nodes that touch each other stand around their common middle."""
    pools: list[tuple[float, int]] = []
    for number, place in enumerate(wished):
        middle, count = place - number * apart, 1
        while pools and pools[-1][0] > middle:
            other, more = pools.pop()
            middle, count = (middle * count + other * more) / (count + more), count + more
        pools.append((middle, count))
    flat = [middle for middle, count in pools for _ in range(count)]
    return [middle + number * apart for number, middle in enumerate(flat)]
