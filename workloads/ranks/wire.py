"""What a rank of a training and the network say to each other: JSON objects, one per line, over a unix stream socket.

| from | message | means |
|---|---|---|
| rank | `join` | who it is; the first message |
| rank | `group` | it makes a process group with other ranks, which make the same one |
| rank | `destroy` | it posts nothing more in a process group |
| rank | `post` | its next collective, in the order of its program; the gradient of one for the network is in its memory |
| rank | `step` | its optimizer stepped |
| rank | `leave` | it takes part in no further collective |
| any process | `down` | end the network |
| network | `welcome` | with the file descriptor of the rank's memory |
| network | `agreed` | all ranks of its group posted the same: they may move the data; or the group is made, or destroyed |
| network | `done` | the sum is where the gradient is, in the second half of the memory |
| network | `failed` | nothing will be summed any more, and why |

Every `group`, `destroy` and `post` of a rank has a number, counted from 0 over the life of the rank. The ranks of a group must post
the same collectives in the same order. A send and a recv of the same ranks and tag belong together.
"""  # noqa: E501

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from workloads.codec import Codec, Misfit, unless_default

__all__ = [
    "VERSION",
    "Agreed",
    "Destroy",
    "Done",
    "Down",
    "Failed",
    "Group",
    "Join",
    "Leave",
    "LineReader",
    "Message",
    "Post",
    "Step",
    "Welcome",
    "WireProblem",
    "Wired",
    "decode",
    "encode",
]

VERSION = 3
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
class Group:
    number: int
    name: str
    """name in torch; it may be used again when its group was destroyed"""
    ranks: tuple[int, ...]
    """ranks of the whole training"""
    timeout_s: float
    """0: that of the network alone"""


@dataclass(frozen=True, slots=True)
class Destroy:
    number: int
    group: str


@dataclass(frozen=True, slots=True)
class Wired:
    """A collective that crosses the network as bytes or as sums of float32, over a mesh of connections."""

    operation: str
    """all_reduce, reduce_scatter, all_gather, broadcast, reduce, swap, send, barrier"""
    words: int
    """4-byte words that the rank gives, from its place in the memory on, or takes: the larger number"""
    gives: tuple[int, ...] = unless_default(())
    """of `swap`: words for each rank of the group"""
    takes: tuple[int, ...] = unless_default(())
    """of `swap`: words from each rank of the group"""


@dataclass(frozen=True, slots=True)
class Post:
    number: int
    what: str
    """all_reduce, broadcast, barrier, send, recv, ..."""
    dtype: str
    """type of its elements; empty: it has none"""
    op: str
    """sum, avg, max, ...; empty: it reduces nothing"""
    elements: int
    """number of elements, the same on every rank; -1: ranks may differ"""
    in_network: bool
    """false: the ranks do it among themselves, through the store of their rendezvous"""
    offset: int
    """place in the rank's memory in bytes, of a collective in the network"""
    group: str = unless_default("")
    """its process group, as `agreed` named it; empty: all ranks, without a `group` message"""
    shape: str = unless_default("")
    """shape of its tensors, to be shown and compared; empty: nothing but `elements`"""
    root: int = unless_default(-1)
    """rank of the whole training that gives or takes alone; -1: none does"""
    peer: int = unless_default(-1)
    """rank of the whole training that a send or recv names; -1: any"""
    tag: int = unless_default(0)
    """tag of a send or recv"""
    gives: tuple[int, ...] = unless_default(())
    """elements for each rank of the group; empty: alike for all"""
    takes: tuple[int, ...] = unless_default(())
    """elements from each rank of the group"""
    timeout_s: float = unless_default(0.0)
    """seconds that the rank waits for the others; 0: as long as the network does"""
    wired: Wired | None = unless_default(None)
    """of a collective in the network that is not an all-reduce of all ranks"""


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    """number of the step, from 1"""


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
    """bytes of memory for gradients; the same size for their sums lies behind it"""
    size: int
    timeout_s: float
    """time without news after which the network gives up"""
    network: str
    """name of the network, for a person"""
    carries_all: bool = unless_default(False)
    """whether the network carries `wired` collectives, too"""


@dataclass(frozen=True, slots=True)
class Agreed:
    number: int
    """number of the rank's message that this answers"""
    group: str
    """name of the group: no other one of any training ever has the same"""
    turn: int
    """number of this agreement of the group: the same at all ranks"""
    peer: int
    """rank that sends, for a recv; else -1"""


@dataclass(frozen=True, slots=True)
class Done:
    number: int
    network_ns: int
    peer: int = unless_default(-1)
    """rank that sent, for a recv; else -1"""


@dataclass(frozen=True, slots=True)
class Failed:
    reason: str


Message: TypeAlias = Join | Group | Destroy | Post | Step | Leave | Down | Welcome | Agreed | Done | Failed
_KINDS: dict[str, type[Message]] = {kind.__name__.lower(): kind for kind in get_args(Message)}
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
