"""Configuration of a parameter server. Values only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workloads.config import ArithmeticSpec
from workloads.wire import Envelope

if TYPE_CHECKING:
    from workloads.machine import HostMachine

__all__ = ["JobOfServer", "Reset", "ServedMember", "ServerConfig"]


@dataclass(frozen=True, slots=True)
class ServedMember:
    """A worker, as its server knows it."""

    rank: int
    mac: bytes
    ip: bytes


@dataclass(frozen=True, slots=True)
class JobOfServer:
    """One job of a server; `window`, `memory`, `salt` and `elements` are those of its workers
    (`workloads.atp.config`)."""

    job: int
    kind: str
    """name of the protocol (`workloads.server.kinds`)"""
    members: tuple[ServedMember, ...]
    """rank order"""
    window: int
    memory: int
    salt: int
    elements: int = 256
    """most of a block"""
    arithmetic: ArithmeticSpec = ArithmeticSpec()
    rto_ns: int = 10_000_000
    """time after the first part of a sum until the server asks for missing parts, with `remind`"""
    remind: bool = False
    """whether to ask the switch for what it holds of an incomplete sum, and the workers for what is missing then
    (ESA)"""
    multicast: bool = True
    """whether results go to the switch, which frees the slot and copies them to the workers; false: to each worker
    directly, since no node on the way knows the job"""
    racks: tuple[tuple[int, ...], ...] = ()
    """ranks by rack, where there are more than `bitmap0` names (`workloads.datagrams.worker_sets`)"""
    gradient_blocks: int = 0
    """blocks of each iteration: results wait until all of its sums are complete; 0: each leaves when it is complete"""
    cached_windows: int = 2
    """results that are kept, in windows; with fewer than 2 a worker may ask for one that is gone"""


@dataclass(frozen=True, slots=True)
class Reset:
    """What is not complete is forgotten, since workers send it again another way. Times since the start of the
    traffic."""

    at_ns: int
    because_ns: int
    """time of the event that makes it necessary"""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Configuration of the server on one host. Several jobs may have the same server."""

    name: str
    """name of its host"""
    envelope: Envelope
    """headers of results for all: from this host to the aggregation service of the switches"""
    jobs: tuple[JobOfServer, ...]
    trace: bool = False
    """whether to report every step of the table (SlotChanged)"""
    resets: tuple[Reset, ...] = ()
    """resets by time"""
    lives: int = 0
    """number of restarts of the process, each without its former state"""

    def create(self, start_ns: int) -> HostMachine:
        from workloads.server import create_server  # whose module knows this configuration

        return create_server(self, start_ns)

    def reborn(self, lives: int) -> ServerConfig:
        """A restarted server asks workers for what it lost, whatever the protocol. Workers that have a result send
        that."""
        return replace(self, lives=lives)
