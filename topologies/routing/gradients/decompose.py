"""From rates on arcs to routes: a flow to one receiver, cut into paths, and these given to the senders in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from topologies.routing.gradients.network import FlowNetwork
from topologies.routing.gradients.plan import Route

__all__ = ["Share", "route_of", "routes_of"]

_DUST = 1e-8
"""share of the largest rate on an arc: what solvers leave behind"""
_CRUMB = 1e-5
"""share of the largest rate: a share as small as that takes a shortest way where the flow has lost it to rounding"""


@dataclass(frozen=True, slots=True)
class Share:
    """What one sender gives to the flow."""

    sender: str
    """a worker, or a switch with an aggregate"""
    start: str
    """switch where it enters"""
    rate_bps: float


def routes_of(
    network: FlowNetwork, receiver: str, flow: Mapping[int, float], shares: Sequence[Share]
) -> list[tuple[Route, ...]]:
    """By share; none where a share is nothing but dust. `receiver`: a switch or server; `flow`: bits per second by arc,
    conserved at every other switch.

    Each route's rate is cut so that those of a sender add up to its share, exactly."""
    largest = max([*flow.values(), *(share.rate_bps for share in shares)], default=0.0)
    dust = _DUST * largest
    left = {arc: rate for arc, rate in flow.items() if rate > dust}
    leaving: dict[str, list[int]] = {}
    for arc in left:
        leaving.setdefault(network.arcs[arc].tail, []).append(arc)
    found: list[tuple[Route, ...]] = []
    for share in shares:
        if share.rate_bps <= dust:
            found.append(())
            continue
        parts: list[tuple[tuple[int, ...], float]] = []
        wanted = share.rate_bps
        while wanted > _CRUMB * share.rate_bps or not parts:
            path = _widest_walk(network, share.start, receiver, leaving, left, dust)
            if path is None:
                break
            rate = min([wanted, *(left[arc] for arc in path)])
            for arc in path:
                left[arc] -= rate
            parts.append((path, rate))
            wanted -= rate
        if not parts and share.rate_bps <= _CRUMB * largest:
            parts.append((network.path(share.start, receiver), share.rate_bps))
        if not parts:
            raise ArithmeticError(f"the flow to {receiver} loses what {share.sender} sends")
        scale = share.rate_bps / sum(rate for _, rate in parts)
        merged: dict[tuple[int, ...], float] = {}
        for path, rate in parts:
            merged[path] = merged.get(path, 0.0) + rate * scale
        found.append(tuple(route_of(network, share.sender, share.start, path, rate) for path, rate in merged.items()))
    return found


def route_of(network: FlowNetwork, sender: str, start: str, path: Iterable[int], rate_bps: float) -> Route:
    """`sender`: a worker of switch `start`, or `start` itself."""
    nodes, links = [start], list[str]()
    for index in path:
        nodes.append(network.arcs[index].head)
        links.append(network.arcs[index].link)
    if sender != start:
        nodes.insert(0, sender)
        links.insert(0, network.access[sender].name)
    return Route(tuple(nodes), tuple(links), rate_bps)


def _widest_walk(
    network: FlowNetwork,
    start: str,
    receiver: str,
    leaving: Mapping[str, list[int]],
    left: Mapping[int, float],
    dust: float,
) -> tuple[int, ...] | None:
    """From `start` along what is left, the widest arc first; what circles is cut out. None: nothing is left that leads
    there."""
    path: list[int] = []
    here, been = start, {start: 0}
    dead: set[int] = set()
    while here != receiver:
        ways = [arc for arc in leaving.get(here, ()) if left[arc] > dust and arc not in dead]
        if not ways:
            if not path:
                return None
            last = path.pop()
            dead.add(last)
            been.pop(here, None)
            here = network.arcs[last].tail
            continue
        best = max(ways, key=lambda arc: (left[arc], -arc))
        head = network.arcs[best].head
        if head in been:
            dead.add(best)
            continue
        path.append(best)
        here = head
        been[here] = len(path)
    return tuple(path)
