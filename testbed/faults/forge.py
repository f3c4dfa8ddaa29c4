"""What forgeries may do (`workloads.rc.forging` makes them).

A forgery in `DEADLY` may end a queue pair, and nothing else may do harm. The exception is a `changed` or `shortened`
that a switch takes before the packet it was made of. Such a forgery is as good a first contribution as any.
"""

from __future__ import annotations

from collections.abc import Mapping

from topologies import Direction
from workloads.rc.forging import FORGERIES, Forgery, forge

__all__ = ["DEADLY", "FORGERIES", "PLAIN", "Forgery", "forge"]

_UP, _DOWN = frozenset({Direction.UP}), frozenset({Direction.DOWN})
DEADLY: Mapping[str, frozenset[Direction]] = {
    "stray": _UP | _DOWN,
    "misplaced": _DOWN,
    "restarted": _DOWN,
    "shortened": _DOWN,
    "padded": _DOWN,
    "denied": _UP | _DOWN,
    "unserved": _UP | _DOWN,
    "nak_fatal": _UP | _DOWN,
}
"""directions in which a forgery may end a queue pair. On the way to a host it is taken for the peer's own words. On the
way to a switch `stray` takes its connection's place, and the result travels under the memory key of `denied`"""

PLAIN = frozenset({"old_plain", "stray_plain"})
"""forgeries after which a switch takes what it does not know for plain traffic"""
