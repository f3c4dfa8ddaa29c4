"""The transports of a scenario's jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.scenario.protocols.known import protocol_of, protocols
from testbed.scenario.protocols.names import FRAMINGS
from testbed.scenario.protocols.own_code import is_from_own_file, require
from workloads.ownvalues import Allowed
from workloads.rc.transport import RELIABLE
from workloads.transports import TransportKind

if TYPE_CHECKING:
    from testbed.scenario.model import Scenario

__all__ = ["known_transports", "transport_of", "transports_of", "udp_ports_of"]

_TRANSPORT = Allowed("a workloads.transports.TransportKind", lambda found: isinstance(found, TransportKind))


def transport_of(name: str, framing: str = "udp") -> TransportKind:
    """How packets of this protocol travel. Raises ScenarioError for a protocol of the user's own that does not
    say."""
    protocol = protocol_of(name)
    found: TransportKind = require(protocol.transport, protocol.transport(framing), _TRANSPORT)
    if not is_from_own_file(type(found).__module__):
        return found
    from testbed.scenario.own_transport import own_transport  # of packages and files alone

    return own_transport(found, protocol.name)


def transports_of(scenario: Scenario) -> tuple[TransportKind, ...]:
    """Each once, in the order of the jobs."""
    parts = scenario.parts
    return tuple(dict.fromkeys(transport_of(part.job.protocol, part.transport.framing) for part in parts))


def known_transports() -> tuple[TransportKind, ...]:
    """Those of all protocols that have a name, each once."""
    found = (transport_of(each.name, framing) for each in protocols() for framing in FRAMINGS)
    return tuple(dict.fromkeys(found))


def udp_ports_of(scenario: Scenario) -> tuple[int, ...]:
    """Of UDP, which the hosts of the jobs read: those of their transports, and of RC, by which a job may go on."""
    found = (each.udp_port for each in (*transports_of(scenario), RELIABLE))
    return tuple(dict.fromkeys(port for port in found if port is not None))
