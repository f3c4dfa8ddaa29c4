"""What a rank of a training and the network say to each other: JSON objects, one per line, over a unix stream socket.

| from | message | means |
|---|---|---|
| rank | `join` | who it is; the first message |
| rank | `post` | its next collective, in the order of its program; the gradient of one for the network is in its memory |
| rank | `step` | its optimizer stepped |
| rank | `leave` | it takes part in nothing more |
| anybody | `down` | end the network |
| network | `welcome` | with the file descriptor of the rank's memory |
| network | `done` | the sum is where the gradient is, in the second half of the memory |
| network | `failed` | nothing will be summed any more, and why |

Every collective has a number, counted from 0 over the life of the rank; all ranks must post the same ones in the same
order.
"""  # noqa: E501

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from workloads.codec import Codec, Misfit

__all__ = [
    "VERSION",
    "Done",
    "Down",
    "Failed",
    "Join",
    "Leave",
    "LineReader",
    "Message",
    "Post",
    "Step",
    "Welcome",
    "WireProblem",
    "decode",
    "encode",
]

VERSION = 1
_LONGEST_LINE = 1 << 20


class WireProblem(ValueError):
    """What came is no message."""


@dataclass(frozen=True, slots=True)
class Join:
    version: int
    rank: int
    size: int
    """ranks of the whole training"""
    pid: int


@dataclass(frozen=True, slots=True)
class Post:
    number: int
    what: str
    """all_reduce, broadcast, barrier, ..."""
    dtype: str
    """of its elements; empty: it has none"""
    op: str
    """sum, avg, max, ...; empty: it reduces nothing"""
    elements: int
    """that every rank must give alike; -1: they may differ"""
    in_network: bool
    """false: the ranks do it among themselves, through the store of their rendezvous"""
    offset: int
    """in the rank's memory, bytes; of one in the network"""


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    """from 1"""


@dataclass(frozen=True, slots=True)
class Leave:
    error: str
    """the exception that ended the program; empty: none did"""


@dataclass(frozen=True, slots=True)
class Down:
    pass


@dataclass(frozen=True, slots=True)
class Welcome:
    memory_bytes: int
    """for gradients; behind it lies as much for their sums"""
    size: int
    timeout_s: float
    """without news for so long the network gives up"""
    network: str
    """for a person"""


@dataclass(frozen=True, slots=True)
class Done:
    number: int
    network_ns: int


@dataclass(frozen=True, slots=True)
class Failed:
    reason: str


Message: TypeAlias = Join | Post | Step | Leave | Down | Welcome | Done | Failed
_KINDS: dict[str, type[Message]] = {
    kind.__name__.lower(): kind for kind in (Join, Post, Step, Leave, Down, Welcome, Done, Failed)
}
_CODEC = Codec(knows_all=True)
"""both sides are of one version"""


def encode(message: Message) -> bytes:
    values = {"kind": type(message).__name__.lower(), **_CODEC.encode_fields(message)}
    return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Raises WireProblem for what no peer of this version sends."""
    try:
        values: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise WireProblem(f"a line that is no JSON: {line[:60]!r}") from error
    name = values.pop("kind", None) if isinstance(values, dict) else None
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise WireProblem(f"no message of this version: {line[:60]!r}")
    try:
        return _CODEC.decode(kind, values)
    except Misfit as misfit:
        raise WireProblem(f"a {name} with the wrong fields ({misfit}): {line[:120]!r}") from misfit


class LineReader:
    """Bytes of a stream in, messages out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """Raises WireProblem; the stream is of no use then."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            raise WireProblem(f"a line of more than {_LONGEST_LINE} bytes")
        return [decode(line) for line in lines]
