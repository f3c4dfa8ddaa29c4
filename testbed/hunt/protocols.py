"""Protocols that are hunted in, in addition to NetReduce: protocols of datagrams that say how schedules are drawn for
them (`Protocol.hunt`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from testbed.hunt.contract import Hunted, whole_protocol
from testbed.hunt.draw_fabric import FABRIC, RACK
from testbed.hunt.draw_pfc import PFC
from testbed.hunt.own import own_hunt
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.own_code import is_own_code
from testbed.scenario.protocols.own_definition import require_definition
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.server.tables import BLOCK_TABLE

__all__ = ["BLOCK_STEPS", "PROTOCOLS", "hunted_in", "hunted_of", "kind_of_scenario"]

BLOCK_STEPS = frozenset((state.name.lower(), event.name.lower()) for state, event in BLOCK_TABLE)
"""(state, event) of the steps of parameter servers; no slot of a switch takes any of these"""


def _seen(name: str) -> Hunted | None:
    """Raises ScenarioError for what a protocol of the user's own may not define."""
    protocol = whole_protocol(name)
    hunt = own_hunt(protocol) if is_own_code(name) else protocol.hunt()
    if hunt is None:
        return None
    return Hunted(
        protocol.name,
        protocol.programs[0],
        hunt,
        protocol.servers() > 0,
        KeyGroup.PRIORITY in protocol.optional_keys(),
        protocol.operations(),
    )


@cache
def _all_hunted() -> Mapping[str, Hunted]:
    return {name: hunted for name in protocol_names() if (hunted := _seen(name)) is not None}


class _Later(Mapping[str, Hunted]):
    """Found out when it is first asked: hunts of protocols import this module."""

    def __getitem__(self, name: str) -> Hunted:
        return _all_hunted()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_all_hunted())

    def __len__(self) -> int:
        return len(_all_hunted())


PROTOCOLS: Mapping[str, Hunted] = _Later()
"""those of ours"""


def hunted_in(scenario: Scenario) -> Hunted | None:
    """None: its workers talk over RC connections."""
    return hunted_of(scenario.job.protocol)


def hunted_of(kind: str) -> Hunted | None:
    """By the kind of a hunt; None: it is one of topology."""
    if kind in (RACK, FABRIC, PFC):
        return None
    if is_own_code(kind):
        require_definition(kind)
        return _seen(kind)
    return _known(kind)


@cache
def _known(kind: str) -> Hunted | None:
    """Of a built-in protocol, which stays as it is. A schedule asks 60 times."""
    return _seen(kind)


def kind_of_scenario(scenario: Scenario) -> str:
    """What a hunt in this scenario is a hunt in."""
    if hunted_in(scenario) is not None:
        return scenario.job.protocol
    return RACK if len(scenario.topology.switches) == 1 else FABRIC
