"""The programs of others, over kernel TCP: which there are, what each lacks here, and all of them on one network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Protocol

from testbed.bench.peers import gloo, openmpi
from testbed.bench.peers.cases import PeerBenchCase, Sample
from testbed.bench.peers.gloo import Gloo
from testbed.bench.peers.network import PeerNetwork, open_network
from testbed.bench.peers.openmpi import OpenMpi
from topologies import Topology

__all__ = ["Peer", "missing_peers", "peers_on"]


class Peer(Protocol):
    """A program of others on a network that is up."""

    def measure(self, case: PeerBenchCase, repeat: int) -> Sample: ...


_PEERS: Mapping[str, Callable[[PeerNetwork], AbstractContextManager[Peer]]] = {"gloo": Gloo.on, "openmpi": OpenMpi.on}
_MISSING: Mapping[str, Callable[[], str]] = {"gloo": gloo.missing, "openmpi": openmpi.missing}


def missing_peers() -> dict[str, str]:
    """Name of a program that is not on this machine -> what is missing."""
    return {name: what for name, missing in _MISSING.items() if (what := missing())}


@contextmanager
def peers_on(topology: Topology, absent: Collection[str]) -> Iterator[dict[str, Peer]]:
    """Those that are not `absent`, on the links of a rack; without any no network is made. Raises as
    `open_network`."""
    with ExitStack() as stack:
        there = [name for name in _PEERS if name not in absent]
        if not there:
            yield {}
            return
        network = stack.enter_context(open_network(topology))
        yield {name: stack.enter_context(_PEERS[name](network)) for name in there}
