"""What lossless nodes ask of the network around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from switch_nodes.lossless.buffer import Account, Key
from testbed.history.pfc_events import BufferMeasured
from testbed.worlds.simulated.wire import Wire

__all__ = ["Hooks", "measured", "no_hooks"]


@dataclass(frozen=True, slots=True)
class Hooks:
    still_paused: Callable[[], None]
    """a pause had to be asked for again: look for a deadlock"""
    blame: Callable[[str, Key], None]
    """(node, (port, class)): it begins to pause what comes there"""
    dropped: Callable[[str, str], None]
    """(link, direction): a buffer dropped a packet that came by it"""
    half_pause_ns: Callable[[Wire], int]
    """half of the time of a pause that leaves on this wire"""
    finish: Callable[[str, Mapping[int, Wire]], None]
    """(node, its outgoing wires): the run is over"""


def measured(account: Account, link: str, direction: str, sent: int) -> BufferMeasured:
    """What is reported of an account at the end."""
    limits, (_, pfc_class) = account.limits, account.key
    most, dropped = account.most_headroom, account.dropped
    return BufferMeasured(link, direction, pfc_class, limits.headroom, most, sent, dropped)


def no_hooks() -> Hooks:
    """Of a node that stands alone."""
    return Hooks(lambda: None, lambda *_: None, lambda *_: None, lambda _: 1, lambda *_: None)
