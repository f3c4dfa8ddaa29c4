"""Models of collectives on a rack by name, at the level of messages or of flows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from testbed.scale.contract import ScaledProtocol
from testbed.scale.model import RackModel, RackPoint
from testbed.scale.outcome import ScaleOutcome
from testbed.scenario.known import protocols
from testbed.scenario.named import protocol_names
from workloads.errors import InternalError

__all__ = ["flow_level", "message_level", "rack_models"]


@cache
def rack_models() -> Mapping[str, RackModel]:
    """By name; first those that are called as their protocol."""
    asked = (each.rack_model() for each in protocols() if isinstance(each, ScaledProtocol))
    found = {model.name: model for model in asked if model is not None}
    return {name: found[name] for name in sorted(found, key=lambda name: (name not in protocol_names(), name))}


def message_level(collective: str, point: RackPoint) -> ScaleOutcome:
    """Raises ScenarioError when the collective cannot do that number of hosts."""
    return _model(collective).messages(point)


def flow_level(collective: str, point: RackPoint) -> ScaleOutcome:
    """Raises ScenarioError when the collective cannot do that number of hosts."""
    return _model(collective).flows(point)


def _model(collective: str) -> RackModel:
    if collective not in rack_models():
        raise InternalError(f"no collective {collective!r} on a rack")
    return rack_models()[collective]
