"""Which loop runs a plan: the one place that decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any

from testbed.faults.model import Kill, PacketFault, Pause, RateChange
from testbed.plan import Plan
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.lossless.fabric import LosslessFabric
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from testbed.worlds.simulated.native.agenda import NativeAgenda
from testbed.worlds.simulated.native.library import load_core
from testbed.worlds.simulated.native.nodes import NativeHostNode, NativeSwitchNode
from testbed.worlds.simulated.native.wire import NativeWire
from testbed.worlds.simulated.nodes import HostNode, SwitchNode
from testbed.worlds.simulated.wire import Wire
from workloads.machine import Event
from workloads.native.compiled import compiled_status

__all__ = ["Parts", "choose_parts"]

_KNOWN_OF_LINKS = frozenset(
    {
        "rate_bps", "delay_ns", "jitter_ns", "mtu", "queue_packets", "ecn_threshold_packets", "priority",
        "drop_low_above_packets",
    }
)  # fmt: skip
_KNOWN_ORDERS = ("none", "layers")
"""values of `LinkShape.priority`"""
_KNOWN_OF_NODES = frozenset({"name", "role", "mac", "ip", "part"})
_KNOWN_OF_SCENARIOS = frozenset(
    {
        "name", "topology", "link", "description", "seed", "world", "transport", "switch", "job", "faults",
        "time_limit_ns", "capture", "trace", "clocks", "background", "expect", "source", "sample_every_ns",
        "recoveries", "dilation",
    }
)  # fmt: skip
_KNOWN_FAULTS = frozenset({RateChange, Kill, Pause})
"""faults in addition to those of packets, which the filters of links know"""
_MOST_AROUND = 160
"""most bytes of a request without its payload, and some more"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a simulation is made of."""

    agenda: Agenda
    host: type[HostNode]
    switch: type[SwitchNode]
    wire: type[Wire]
    connect: Callable[..., None]
    """(topology, nodes by name, wires by link and direction), when all are there"""
    fabric: LosslessFabric | None = None
    """of a network with PFC"""


def choose_parts(plan: Plan, tell: Callable[[str, Event], None] | None = None, *, native: bool = True) -> Parts:
    """The loop in C, if `native` is true, this machine can build it, and it knows all that the plan asks for. It does
    not know later kinds of faults, or later properties of links, nodes or the scenario that are not at their default.
    It is also not used for a plan without Machines that C drives, while the other loop is compiled: in a traced run all
    Machines are Python. A scenario with PFC gets nodes and wires of its own, and `tell` for events of the network as a
    whole."""
    if plan.scenario.pfc is not None:
        fabric = LosslessFabric(plan.scenario, tell or _nothing)
        return Parts(Agenda(plan.scenario.seed), LosslessHost, LosslessSwitch, LosslessWire, fabric.connect, fabric)
    has_work = (plan.ring_workers and not plan.scenario.trace) or not compiled_status().available
    library = load_core() if native and has_work and _is_known(plan) else None
    if library is None:
        return Parts(Agenda(plan.scenario.seed), HostNode, SwitchNode, Wire, _nothing)
    frames = [link.shape.mtu + 14 for link in plan.scenario.topology.links]
    frames += [qp.path_mtu + _MOST_AROUND for worker in plan.ring_workers for qp in worker.queue_pairs]
    agenda = NativeAgenda(plan.scenario.seed, library, max(frames) + 63 & ~63)
    return Parts(agenda, NativeHostNode, NativeSwitchNode, NativeWire, agenda.connect)


def _is_known(plan: Plan) -> bool:
    scenario = plan.scenario
    return (
        _has_only(scenario, _KNOWN_OF_SCENARIOS)
        and all(isinstance(fault, PacketFault) or type(fault) in _KNOWN_FAULTS for fault in scenario.faults)
        and all(_has_only(node, _KNOWN_OF_NODES) for node in scenario.topology.nodes)
        and all(_has_only(link.shape, _KNOWN_OF_LINKS) for link in scenario.topology.links)
        and all(link.shape.priority in _KNOWN_ORDERS for link in scenario.topology.links)
    )


def _has_only(value: Any, known: frozenset[str]) -> bool:
    kind: Any = type(value)
    return all(getattr(value, name) == default for name, default in _unknown(kind, known))


@cache
def _unknown(kind: Any, known: frozenset[str]) -> tuple[tuple[str, Any], ...]:
    """(name, default) of each field that is not among `known`."""
    return tuple(
        (item.name, item.default if item.default_factory is MISSING else item.default_factory())
        for item in fields(kind)
        if item.name not in known
    )


def _nothing(*_: object) -> None:
    """The reference needs no further word."""
