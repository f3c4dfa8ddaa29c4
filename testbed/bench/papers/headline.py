"""A headline of a paper as a value: what was published, and by which sweep it is measured here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.bench.papers.claims import Claim, GainPoint
from testbed.bench.swept import Say
from testbed.sweeps.groups import PointGroup

__all__ = ["UNKNOWN", "Contest", "Headline", "Measure", "gains"]

UNKNOWN = "only the abstract is known (S)"
"""a setting"""
Measure = Callable[[Sequence[PointGroup]], list[GainPoint]]
"""from the points of a sweep, each with its seeds, to the places of a headline"""


@dataclass(frozen=True, slots=True)
class Contest:
    """A subject and its peers, by labels of variants."""

    subject: str
    peers: tuple[str, ...]
    """the best of them counts, seed by seed"""
    name: str = ""
    """name of the pair, where there are several"""


def _nothing(groups: Sequence[PointGroup]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Headline:
    key: str
    """short name, as in tables"""
    paper: str
    published: str
    """figure or statement of the paper, in few words"""
    setting: str
    """setting of the paper, as far as it is known"""
    decided: str
    """what we decided, because the paper or our source of it does not say"""
    sweep: str
    """name of the built-in sweep"""
    measure: Measure
    claim: Claim
    variants: tuple[str, ...] = ()
    """labels of the variants that are run; empty: all"""
    quick: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """values of axes in place of those of the sweep, with `--quick`"""
    remark: Callable[[Sequence[PointGroup]], str] = _nothing
    """something more to say of the same points"""
    is_setting_known: bool = True
    """False: no figure counts as reproduced, because any sweep over settings has some maximum"""
    direct: Callable[[Say], list[GainPoint]] | None = None
    """measures without a sweep of its own; then `sweep` is empty"""


def gains(pairs: Sequence[Contest], figure: str, *, exact: bool = False) -> Measure:
    """Places by the keys of the sweep's axes, and by pair. A gain is the smallest of peers' figure / subject's."""

    def measure(groups: Sequence[PointGroup]) -> list[GainPoint]:
        by_place: dict[tuple[tuple[str, Any], ...], dict[str, PointGroup]] = {}
        for group in groups:
            by_place.setdefault(_place_of(group), {})[str(_variant(group))] = group
        return [
            GainPoint(_name(place, pair, len(pairs)), _paired(found, pair, figure), exact)
            for pair in pairs
            for place, found in by_place.items()
        ]

    return measure


def _variant(group: PointGroup) -> Any:
    values = group.values
    return values.get("variant", values.get("protocol", ""))


def _place_of(group: PointGroup) -> tuple[tuple[str, Any], ...]:
    return tuple((key, value) for key, value in group.labels if "." in key)


def _name(place: Sequence[tuple[str, Any]], pair: Contest, pairs: int) -> str:
    words = [f"{key.rpartition('.')[2]} {value}" for key, value in place]
    return ", ".join([pair.name] * (pairs > 1) + words) or pair.name or pair.subject


def _paired(found: Mapping[str, PointGroup], pair: Contest, figure: str) -> tuple[float, ...]:
    if pair.subject not in found or not set(pair.peers) & found.keys():
        return ()
    subject = _by_seed(found[pair.subject], figure)
    peers = [_by_seed(found[label], figure) for label in pair.peers if label in found]
    return tuple(
        min(peer[seed] for peer in peers) / value
        for seed, value in subject.items()
        if value and all(seed in peer for peer in peers)
    )


def _by_seed(group: PointGroup, figure: str) -> dict[int, float]:
    """Of valid runs alone, as `PointGroup.numbers`."""
    return {
        point.seed: float(value)
        for point, outcome in zip(group.points, group.outcomes, strict=True)
        if outcome.is_done and outcome.verdict != "fail" and (value := outcome.figures.get(figure)) is not None
    }
