"""How much headroom the links of a lossless network need, and how much they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from switch_nodes.lossless.headroom import exact_headroom
from testbed.scenario.lossless import headroom_of, largest_frame, limits_of, response_of
from testbed.scenario.model import Scenario

__all__ = ["HeadroomNeed", "headroom_needs", "headroom_warnings", "kept_bytes"]


@dataclass(frozen=True, slots=True)
class HeadroomNeed:
    """Of links that are alike."""

    links: tuple[str, ...]
    exact: int
    """Bytes per port and class that lose nothing."""
    given: int
    """Bytes per port and class that the scenario gives."""


def headroom_needs(scenario: Scenario) -> tuple[HeadroomNeed, ...]:
    """In the order of the links; empty without PFC."""
    pfc, found = scenario.pfc, dict[tuple[int, int], list[str]]()
    if pfc is None:
        return ()
    for link in scenario.topology.links:
        shape = link.shape
        exact = exact_headroom(shape.rate_bps, shape.delay_ns, largest_frame(shape), response_of(pfc, shape))
        found.setdefault((exact, headroom_of(pfc, shape)), []).append(link.name)
    return tuple(HeadroomNeed(tuple(links), exact, given) for (exact, given), links in found.items())


def kept_bytes(scenario: Scenario) -> int:
    """Most bytes of a switch's buffer that are headroom and reserves; 0 without PFC."""
    if scenario.pfc is None:
        return 0
    of_each = (limits_of(scenario.pfc, scenario.topology, switch.name) for switch in scenario.topology.switches)
    return max(sum(each.headroom + each.reserve for each in limits.values()) for limits in of_each)


def headroom_warnings(scenario: Scenario) -> Iterator[str]:
    """Headroom that loses packets in the worst phase, with both figures."""
    for need in headroom_needs(scenario):
        if need.given < need.exact:
            yield (
                f"{scenario.source}: pfc: {need.links[0]} has {need.given:,} B of headroom and needs {need.exact:,} B: "
                "a lossless class may lose packets"
            )
