"""What each stock program heeds of a switch's configuration, beyond what all of them do. What somebody writes for a program that
does not heed it is a mistake, whichever way it gets there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs

__all__ = ["KNOBS_OF", "unheeded"]

KNOBS_OF: Mapping[str, tuple[str, ...]] = {
    "atp": ("reclaim",),
    "esa": tuple(knob.name for knob in fields(AggregatorKnobs)),
}
_RINGS = ("rings", "release", "gate")
_FIELDS_OF: Mapping[str, tuple[str, ...]] = {
    "forward": (),
    "steer": ("steering",),
    "netreduce": _RINGS,
    "fpga": _RINGS,
    "switchml": ("jobs", "memory"),
    "atp": ("jobs", "memory", "knobs"),
    "esa": ("jobs", "memory", "knobs"),
    "grid": ("jobs", "memory", "grid"),
}
_OF_SOME = frozenset(name for names in _FIELDS_OF.values() for name in names)


def unheeded(config: SwitchConfig) -> Iterator[tuple[str, str]]:
    """(key, what the program heeds there) of all that is not as it comes though the program does not look at it. A program that
    is not of the stock may heed anything."""
    heeded = _FIELDS_OF.get(config.program)
    if heeded is None:
        return
    for field in fields(SwitchConfig):
        if field.name in _OF_SOME and field.name not in heeded and getattr(config, field.name) != field.default:
            yield field.name, ", ".join(heeded)
    for knob in fields(AggregatorKnobs) if "knobs" in heeded else ():
        known = KNOBS_OF[config.program]
        if knob.name not in known and getattr(config.knobs, knob.name) != knob.default:
            yield f"knobs.{knob.name}", ", ".join(known)
