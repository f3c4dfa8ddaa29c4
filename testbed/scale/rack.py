"""Models of collectives on a rack by name, at the level of messages or of flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.scale import rack_flows, schedules
from testbed.scale.messages import rack_path, run_messages
from testbed.scale.netreduce import RackLink, netreduce_on_rack
from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import TrainFraming
from workloads.errors import InternalError

__all__ = ["RACK_COLLECTIVES", "RackPoint", "flow_level", "message_level"]


@dataclass(frozen=True, slots=True)
class RackPoint:
    hosts: int
    size_bytes: int
    rate_bps: float
    delay_ns: float = 0.0
    """delay of one link; a message crosses two"""
    message_packets: int = 170
    window_messages: int = 2
    path_mtu: int = 1024


@dataclass(frozen=True, slots=True)
class _Model:
    name: str
    messages: Callable[[RackPoint], ScaleOutcome]
    flows: Callable[[RackPoint], ScaleOutcome]


def _links(point: RackPoint) -> list[RackLink]:
    return [_link(point)] * point.hosts


def _link(point: RackPoint) -> RackLink:
    return RackLink(point.rate_bps, point.delay_ns)


def _framing(point: RackPoint) -> TrainFraming:
    return TrainFraming(point.path_mtu)


def _netreduce_messages(point: RackPoint) -> ScaleOutcome:
    return netreduce_on_rack(
        _links(point),
        point.size_bytes,
        framing=_framing(point),
        message_packets=point.message_packets,
        window_messages=point.window_messages,
    )


def _ring_messages(point: RackPoint) -> ScaleOutcome:
    cut = point.hosts, point.size_bytes, point.message_packets, point.path_mtu
    window = schedules.ring_window(*cut, point.window_messages)
    return run_messages(schedules.ring(*cut), rack_path(_links(point)), _framing(point), window_messages=window)


def _windowed_flows(flows: Callable[..., ScaleOutcome]) -> Callable[[RackPoint], ScaleOutcome]:
    """Of a model that knows messages and their window."""
    return lambda point: flows(
        point.hosts, point.size_bytes, _link(point), _framing(point), point.message_packets, point.window_messages
    )


def _halving_doubling_messages(point: RackPoint) -> ScaleOutcome:
    messages = schedules.halving_doubling(point.hosts, point.size_bytes)
    return run_messages(messages, rack_path(_links(point)), _framing(point))


def _tree_messages(point: RackPoint) -> ScaleOutcome:
    messages = schedules.binomial_tree(point.hosts, point.size_bytes)
    return run_messages(messages, rack_path(_links(point)), _framing(point))


def _plain_flows(flows: Callable[..., ScaleOutcome]) -> Callable[[RackPoint], ScaleOutcome]:
    return lambda point: flows(point.hosts, point.size_bytes, _link(point), _framing(point))


_MODELS = {
    model.name: model
    for model in (
        _Model("netreduce", _netreduce_messages, _windowed_flows(rack_flows.netreduce_flows)),
        _Model("ring", _ring_messages, _windowed_flows(rack_flows.ring_flows)),
        _Model("halving_doubling", _halving_doubling_messages, _plain_flows(rack_flows.halving_doubling_flows)),
        _Model("tree", _tree_messages, _plain_flows(rack_flows.binomial_tree_flows)),
    )
}
RACK_COLLECTIVES = tuple(_MODELS)


def message_level(collective: str, point: RackPoint) -> ScaleOutcome:
    """Raises ScenarioError when the collective cannot do that number of hosts."""
    return _model(collective).messages(point)


def flow_level(collective: str, point: RackPoint) -> ScaleOutcome:
    """Raises ScenarioError when the collective cannot do that number of hosts."""
    return _model(collective).flows(point)


def _model(collective: str) -> _Model:
    if collective not in _MODELS:
        raise InternalError(f"no collective {collective!r} on a rack")
    return _MODELS[collective]
