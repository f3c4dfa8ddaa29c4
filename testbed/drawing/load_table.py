"""A plan as text: rates, which nodes aggregate whose gradients, the load table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topologies.routing.gradients import Load, RoutingPlan, Stream

__all__ = ["format_bps", "load_table"]

_UNITS = (("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3))
_MOST_ROWS = 40


def format_bps(rate: float) -> str:
    """`24.375Mbps`: at most six digits, in the largest unit below it."""
    for unit, scale in _UNITS:
        if rate >= scale:
            return f"{rate / scale:.6g}{unit}"
    return f"{rate:.6g}bps"


def load_table(plan: RoutingPlan) -> Iterator[str]:
    """Lines of text. Long plans show the fullest links only, and say so."""
    problem = plan.problem
    yield f"planner {plan.planner}: slowest worker {format_bps(plan.min_rate_bps)}" + (
        f" ({plan.note})" if plan.note else ""
    )
    if plan.bound_bps != float("inf"):
        share = plan.min_rate_bps / plan.bound_bps
        limits = f"; it is limited by {', '.join(plan.binds[:8])}" if plan.binds else ""
        yield f"bound {format_bps(plan.bound_bps)} (linear program), reached to {share:.2%}{limits}"
    yield ""
    yield from _assignments(plan)
    yield ""
    loads = sorted(
        plan.link_loads, key=lambda load: -load.load_bps / load.capacity_bps
    ) if len(plan.link_loads) > _MOST_ROWS else plan.link_loads  # fmt: skip
    rows = [("link", "load", "of", "share")]
    rows += [_row(load) for load in loads[:_MOST_ROWS]]
    rows += [("switch", "aggregates", "of", "share")] + [_row(load) for load in plan.switch_loads]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        yield f"  {row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}".rstrip()
    if len(loads) > _MOST_ROWS:
        yield f"  ... and {len(loads) - _MOST_ROWS} links with less"
    if len(problem.servers) > 1:
        yield f"shares of the servers: {', '.join(_shares(plan))}"


def _row(load: Load) -> tuple[str, str, str, str]:
    share = f"{load.load_bps / load.capacity_bps:.0%}" if load.capacity_bps else "-"
    return load.name, format_bps(load.load_bps), format_bps(load.capacity_bps), share


def _assignments(plan: RoutingPlan) -> Iterator[str]:
    """Workers that do the same, in one line."""
    seen = [(worker, _doing(plan, worker)) for worker in plan.problem.workers]
    for doing, found in groupby(sorted(seen, key=lambda item: _first(seen, item[1])), key=lambda item: item[1]):
        names = [worker for worker, _ in found]
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        yield f"  {shown}: {doing}"


def _first(seen: list[tuple[str, str]], doing: str) -> int:
    return next(index for index, (_, other) in enumerate(seen) if other == doing)


def _doing(plan: RoutingPlan, worker: str) -> str:
    return "; ".join(
        _stream(stream, len(plan.problem.servers) > 1) for stream in plan.streams if stream.worker == worker
    )


def _stream(stream: Stream, several: bool) -> str:
    ways = " + ".join("-".join(route.nodes[1:]) for route in stream.routes[:3])
    ways += f" + {len(stream.routes) - 3} more ways" if len(stream.routes) > 3 else ""
    what = "unaggregated" if stream.node == stream.server else f"summed at {stream.node}"
    server = f" for {stream.server}" if several else ""
    return f"{format_bps(stream.rate_bps)} {what}{server} via {ways}"


def _shares(plan: RoutingPlan) -> Iterator[str]:
    for server in plan.problem.servers:
        rates = [
            sum(s.rate_bps for s in plan.streams if (s.worker, s.server) == (w, server)) for w in plan.problem.workers
        ]
        yield f"{server} {format_bps(min(rates)) if max(rates) > 0 else 'nothing'}"
