"""What lossless nodes ask of the network around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from switch_nodes.lossless.buffer import Key
from testbed.worlds.simulated.wire import Wire

__all__ = ["Hooks", "no_hooks"]


@dataclass(frozen=True, slots=True)
class Hooks:
    still_paused: Callable[[], None]
    """a pause had to be asked for again: look for a deadlock"""
    blame: Callable[[str, Key], None]
    """(node, (port, class)): it begins to pause what comes there"""
    half_pause_ns: Callable[[Wire], int]
    """half of the time of a pause that leaves on this wire"""
    finish: Callable[[str, Mapping[int, Wire]], None]
    """(node, its outgoing wires): the run is over"""


def no_hooks() -> Hooks:
    """Of a node that stands alone."""
    return Hooks(lambda: None, lambda *_: None, lambda _: 1, lambda *_: None)
