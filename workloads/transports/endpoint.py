"""One end of a transport's connections: what its user posts and takes, and what worlds drive.

A transport with connections makes it (`ConnectedTransport.endpoint`). No other module names its class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from workloads.machine import BatchMachine, Event, Machine
from workloads.transports.kind import TransportKind
from workloads.transports.messages import Completion, ReceiveRequest, SendRequest

if TYPE_CHECKING:
    from workloads.collectives.plain_ring import PlainRing
    from workloads.config import QpConfig

__all__ = ["LONGEST", "ConnectedTransport", "Endpoint", "NativeEndpoint", "ReliableEndpoint", "Verbs"]

LONGEST = 1 << 31
"""bytes of the longest message of RoCE v2"""
_Completed = TypeVar("_Completed", covariant=True)


class Endpoint(Machine, Protocol[_Completed]):
    """Many queue pairs behind one network port. A frame for another address changes nothing."""

    def add_qps(self, configs: Iterable[QpConfig]) -> None:
        """Raises ValueError when a number is taken."""
        ...

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None:
        """Send a message. Raises KeyError for an unknown queue pair."""
        ...

    def next_frame(self, now: int) -> bytes | None:
        """The next of `frames_to_send`, which has then left; None: there is none."""
        ...

    def next_completion(self) -> _Completed | None:
        """The oldest message that completed, and that the caller has not taken yet."""
        ...

    @property
    def has_news(self) -> bool:
        """Whether there is a completion or an event that the caller has not taken yet."""
        ...

    def statistics(self) -> Iterable[Event]:
        """Events for the end of the run."""
        ...


class Verbs(Protocol):
    """What collectives use of an endpoint that loses no message."""

    def register_memory(self, rkey: int, base_va: int, memory: memoryview, *, endless: bool = False) -> None: ...

    def post_send(self, qpn: int, request: SendRequest, now: int) -> None: ...

    def post_receives(self, qpn: int, requests: Sequence[ReceiveRequest]) -> None: ...

    def outstanding_packets(self, qpn: int) -> int: ...


class ReliableEndpoint(Endpoint[Completion], BatchMachine, Verbs, Protocol):
    """One that loses no message, in memory that its user registers."""

    def hold(self) -> NativeEndpoint | None:
        """The object that hands this endpoint, with its present queue pairs, to compiled code. None: no compiled code
        can drive it."""
        ...


class NativeEndpoint(Protocol):
    """An endpoint that may be handed to compiled code."""

    held: bool
    """the compiled code has it"""
    address: int
    """of its struct"""

    def carry(self, ring: PlainRing) -> None:
        """Let the compiled code carry on a ring's messages as well, if it can."""
        ...

    def offer(self, others: int | None, *, quiet: bool = False) -> bool: ...

    def tell_events(self) -> bool: ...

    def tell(self, kind: int, pair: int, a: int, b: int) -> None: ...

    def take_back(self, now: int) -> None: ...


class ConnectedTransport(TransportKind):
    """One whose hosts have endpoints with queue pairs."""

    @abstractmethod
    def endpoint(
        self, queue_pairs: Iterable[QpConfig] = (), *, longest: int = LONGEST, batches: bool = True
    ) -> Endpoint[object]:
        """Make an endpoint. `longest`: bytes of the longest message that it takes, where no memory of its user limits
        them. `batches`: whether frames come and go in batches. False saves memory where thousands of queue pairs are
        idle most of the time."""
