"""Each planted bug within the bound is found with its minimal trace, and the trace as a scenario fails again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import pytest

from tests.support.datagram_planted import DATAGRAM_FURTHER, DATAGRAM_PLANTED
from tests.support.hunt_mutants import IRN_PLANTED, PLANTED
from tests.support.states_cases import interpreted
from tests.support.states_planted import FOUND, OUTSIDE, Shown

_ALL: Mapping[str, set[str]] = {
    "netreduce": set(PLANTED), "irn": set(IRN_PLANTED),
    **{name: {*DATAGRAM_PLANTED[name], *DATAGRAM_FURTHER[name]} for name in ("switchml", "atp", "esa")},
}  # fmt: skip
_Config = tuple[tuple[int, int, int], tuple[str, ...], int]
"""(size, overrides, faults)"""


def _groups(protocol: str) -> dict[_Config, dict[str, Shown]]:
    groups: dict[_Config, dict[str, Shown]] = defaultdict(dict)
    for name, shown in FOUND[protocol].items():
        groups[shown.size, shown.overrides, shown.faults][name] = shown
    return groups


def _planted(protocol: str, config: _Config, names: list[str], faults: int, replay: bool) -> dict[str, list[object]]:
    size, overrides, _ = config
    program = "netreduce" if protocol == "irn" else protocol
    found: dict[str, list[object]] = interpreted("planted", program, list(size), faults, list(overrides), names, replay)
    return found


@pytest.mark.parametrize("protocol", _ALL)
def test_each_planted_bug_is_found_or_has_a_reason(protocol: str) -> None:
    outside = [name for names in OUTSIDE[protocol].values() for name in names]
    assert Counter([*FOUND[protocol], *outside]) == Counter(_ALL[protocol])


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("protocol", "config"),
    [pytest.param(protocol, config, id=f"{protocol}-{number}")
     for protocol in _ALL for number, config in enumerate(_groups(protocol))],
)  # fmt: skip
def test_the_minimal_trace_of_each_planted_bug(protocol: str, config: _Config) -> None:
    expected = _groups(protocol)[config]
    _, _, faults = config
    found = _planted(protocol, config, list(expected), faults, True)
    assert {name: each and (*each[:3], each[3] or None) for name, each in found.items()} == {
        name: (shown.check, shown.faults, shown.steps, shown.replay) for name, shown in expected.items()
    }
    if faults:
        fewer = _planted(protocol, config, list(expected), faults - 1, False)
        assert set(fewer.values()) == {None}, "none shows with fewer faults"


def test_most_traces_are_replayed() -> None:
    """A scenario has times of its own, at which some traces break no check."""
    replayed = [shown.replay is not None for shows in FOUND.values() for shown in shows.values()]
    assert sum(replayed) > 0.8 * len(replayed)
