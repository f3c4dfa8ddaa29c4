"""Models of protocols on a rack by name, at the level of messages or of flows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from testbed.scale.contract import ScaledProtocol
from testbed.scale.model import RackModel, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scenario.protocols.known import protocols
from testbed.scenario.protocols.named import protocol_names
from workloads.errors import InternalError

__all__ = ["flow_level", "message_level", "rack_models"]


@cache
def rack_models() -> Mapping[str, RackModel]:
    """By name; first those that are called as their protocol."""
    asked = (each.rack_model() for each in protocols() if isinstance(each, ScaledProtocol))
    found = {model.name: model for model in asked if model is not None}
    return {name: found[name] for name in sorted(found, key=lambda name: (name not in protocol_names(), name))}


def message_level(protocol: str, point: RackPoint) -> ScaleOutcome:
    """Raises ScenarioError when the protocol cannot do that number of hosts."""
    return _model(protocol).messages(point)


def flow_level(protocol: str, point: RackPoint) -> ScaleOutcome:
    """Raises ScenarioError when the protocol cannot do that number of hosts."""
    return _model(protocol).flows(point)


def _model(protocol: str) -> RackModel:
    if protocol not in rack_models():
        raise InternalError(f"no protocol {protocol!r} on a rack")
    return rack_models()[protocol]
