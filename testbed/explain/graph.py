"""The wait-for graph: a circle in it, or the nodes where all waiting ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.explain.contract import NodeWait

__all__ = ["circle_in", "ends_of"]


def circle_in(waits: Sequence[NodeWait], stalled: Iterable[str]) -> list[NodeWait]:
    """The shortest circle of waits that a stalled worker is part of, or leads to, each followed by the one it leads to.
    Empty: there is none. A node that waits for itself is no circle."""
    leads: dict[str, list[NodeWait]] = {}
    for wait in waits:
        if wait.of != wait.node:
            leads.setdefault(wait.node, []).append(wait)
    best: list[NodeWait] = []
    for start in sorted(_reached(leads, stalled)):
        found = _back_to(start, leads)
        if found and (not best or len(found) < len(best)):
            best = found
    return best


def ends_of(waits: Sequence[NodeWait], stalled: Iterable[str]) -> list[str]:
    """Nodes that stalled workers wait for, directly or by others, and that wait for no other node."""
    leads: dict[str, list[NodeWait]] = {}
    for wait in waits:
        if wait.of != wait.node:
            leads.setdefault(wait.node, []).append(wait)
    return sorted(node for node in _reached(leads, stalled) if node not in leads)


def _reached(leads: dict[str, list[NodeWait]], stalled: Iterable[str]) -> set[str]:
    found, stack = set[str](), list(stalled)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [wait.of for wait in leads.get(node, ())]
    return found


def _back_to(start: str, leads: dict[str, list[NodeWait]]) -> list[NodeWait]:
    """The shortest way from a node to itself."""
    ways: list[list[NodeWait]] = [[wait] for wait in leads.get(start, ())]
    seen = {wait.of for way in ways for wait in way}
    while ways:
        longer = []
        for way in ways:
            if way[-1].of == start:
                return way
            for wait in leads.get(way[-1].of, ()):
                if wait.of == start or wait.of not in seen:
                    seen.add(wait.of)
                    longer.append([*way, wait])
        ways = longer
    return []
