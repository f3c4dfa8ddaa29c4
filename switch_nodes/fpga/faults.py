"""What can be wrong with an emulated card, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from workloads.errors import ScenarioError

__all__ = [
    "AgentDies",
    "CardFault",
    "GarbageReads",
    "ProgrammingFails",
    "StopsPassing",
    "WrongBitstream",
    "WrongPsn",
    "WrongSum",
    "fault_words",
    "parse_fault",
]


@dataclass(frozen=True, slots=True)
class WrongBitstream:
    """Another bitstream is loaded than the one that was sent, and the card says so in BITSTREAM_HASH only."""


@dataclass(frozen=True, slots=True)
class ProgrammingFails:
    """Loading breaks off."""

    after_pages: int = 1
    """pages that are stored before"""


@dataclass(frozen=True, slots=True)
class AgentDies:
    """Accesses to registers get no answer any more; frames pass as before."""

    after: int = 0
    """accesses that are answered before"""


@dataclass(frozen=True, slots=True)
class StopsPassing:
    """Frames vanish in the card, which says that it runs."""

    after_frames: int = 0
    """frames that come in before the fault acts"""


@dataclass(frozen=True, slots=True)
class GarbageReads:
    """Reads give other words than the registers hold."""

    after: int = 0
    """words that are read right before"""
    noise: bool = False
    """false: all ones, as on a bus without an answer"""
    count: int | None = None
    """words that are wrong; None: all from then on"""


@dataclass(frozen=True, slots=True)
class WrongSum:
    """One bit of one element of one sum is turned round; its iCRC is right for it."""

    after: int = 0
    """sums that leave right before"""


@dataclass(frozen=True, slots=True)
class WrongPsn:
    """One sum leaves under the next PSN; its iCRC is right for it."""

    after: int = 0
    """sums that leave right before"""


CardFault = WrongBitstream | ProgrammingFails | AgentDies | StopsPassing | GarbageReads | WrongSum | WrongPsn
_WORDS: dict[str, tuple[Callable[..., CardFault], str]] = {
    "wrong-bitstream": (WrongBitstream, ""),
    "programming-fails": (ProgrammingFails, "after_pages"),
    "agent-dies": (AgentDies, "after"),
    "stops-passing": (StopsPassing, "after_frames"),
    "garbage-reads": (GarbageReads, "after"),
    "noisy-reads": (GarbageReads, "after"),
    "wrong-sum": (WrongSum, "after"),
    "wrong-psn": (WrongPsn, "after"),
}


def fault_words() -> tuple[str, ...]:
    """As people write them: `agent-dies`, or `agent-dies:10`."""
    return tuple(f"{word}:N" if field else word for word, (_, field) in _WORDS.items())


def parse_fault(text: str) -> CardFault:
    """Raises ScenarioError."""
    word, colon, number = text.partition(":")
    kind, field = _WORDS.get(word, (None, ""))
    good = not colon or (bool(field) and number.isascii() and number.isdigit())
    if kind is None or not good:
        raise ScenarioError(
            "no such fault of a card", key="--fault", found=repr(text), allowed=", ".join(fault_words())
        )
    fault: CardFault = kind(**({field: int(number)} if colon else {}))
    return replace(fault, noise=True) if word == "noisy-reads" and isinstance(fault, GarbageReads) else fault
