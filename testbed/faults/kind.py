"""The record of a fault kind: everything that the testbed knows of it. `testbed.faults.kinds` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from testbed.faults.base import Fault, Match, PacketFault, Window
from testbed.faults.copies import Copies, Copy, Seen
from topologies import Direction

__all__ = ["Act", "Dice", "Drawn", "FaultKind"]

Act = Callable[[Any, int, Seen, Copy, int], Copies]
"""(fault, stream, packet, copy, bit of the copies that this fault makes) -> what goes on, None: no hit"""


class Dice(Protocol):
    """What a kind asks when a hunt draws a fault of it. The order of the questions decides what old seeds mean."""

    draw: Random
    travel: int
    """ns that a packet needs through the network and back, about"""
    rto: int
    """ns until something is sent again"""
    delay_share: int
    """a delay is this share of `rto` at most"""

    def where(self) -> tuple[tuple[str, ...], tuple[Direction, ...]]:
        """Links and directions."""

    def window(self) -> Window:
        """One that ends soon enough."""

    def maybe(self) -> Window:
        """Such a window, or the whole run."""

    def match(self) -> Match: ...

    def rate(self, low: float, high: float) -> float: ...

    def hold(self, share: int) -> int:
        """ns, at most that share of `rto`"""

    def node(self) -> str:
        """That is paused or killed."""

    def slowest_bps(self, links: tuple[str, ...]) -> int:
        """Rate of the slowest of them."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """How a hunt draws faults of a kind."""

    fault: Callable[[Dice, str], Fault] | None = None
    """(dice, name) -> a fault; None: the dice of each protocol know best, as they may for any kind"""
    roce: int = 0
    """weight around jobs over RoCE connections, compared with the weights of the others"""
    datagrams: int = 0
    grid: int = 0
    once: bool = False
    """two of them could contradict each other"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """A kind of fault. Its keys are the fields of `value`, a `PacketFault`, `LinkFault` or `NodeFault`, which says
    where it acts."""

    word: str
    """word of `faults[].kind`"""
    value: type[Fault]
    meaning: str
    """one line, for `tb list faults`"""
    page: str = ""
    """What happens, for the page on kinds of faults. Empty: `meaning`."""
    healing: str
    """what happens when its window ends"""
    act: Act | None = None
    """action of packet faults on one copy of a packet. This is the reference; a copy has dice of its own"""
    native: int = 0
    """`enum ina_kind` of rules.h; 0: the C core uses `rate` alone to find which packets it may hit"""
    rule: Callable[[Any], Mapping[str, int]] = lambda fault: {}
    """fields of `struct ina_rule` that only this kind fills, by name"""
    why_not_in_kernel: Callable[[Any], str | None] = lambda fault: "eBPF does not know the kind"
    """why the eBPF program cannot serve this fault; None: it can"""
    makes_copies: bool = False
    """packets come in addition to the one that came: each such fault of a link has a bit of its own in their numbers"""
    is_overtaken: bool = False
    """whether it holds packets back, so that others overtake them"""
    delays: bool = False
    """later packets wait behind those that it makes late"""
    one_figure: bool = False
    """two of them on one link and direction, with one match and windows that overlap, contradict each other"""
    describe: Callable[[Any], str] = lambda fault: ""
    """its figure, for messages about contradictions"""
    takes_away: bool = False
    """packets are lost by it, so that something must be sent again"""
    is_silent: Callable[[Any], bool] = lambda fault: isinstance(fault, PacketFault) and fault.rate == 0
    """its rates are 0: it is expected to hit nothing"""
    drawn: Drawn | None = None
    """None: no hunt draws it"""
