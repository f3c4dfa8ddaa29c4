"""Queue pairs and rings of them, as a plan draws them."""

from __future__ import annotations

from testbed.scenario.model import Scenario
from topologies import Node
from workloads.config import QpConfig
from workloads.wire import Envelope

__all__ = ["BASE_VA", "queue_pair"]

BASE_VA = 0x10_0000_0000
"""receive ring number n begins at n + 1 times this"""


def queue_pair(
    scenario: Scenario,
    own: Node,
    peer: Node,
    *,
    qpn: int,
    peer_qpn: int,
    sport: int,
    first_psn: int,
    peer_first_psn: int,
) -> QpConfig:
    """The end at host `own` of a connection with host `peer`; the rest is what the scenario says of all."""
    transport = scenario.transport
    return QpConfig(
        qpn=qpn,
        peer_qpn=peer_qpn,
        envelope=Envelope(
            src_mac=own.mac, dst_mac=peer.mac, src_ip=own.ip, dst_ip=peer.ip, sport=sport, tos=0x02
        ),
        first_psn=first_psn,
        peer_first_psn=peer_first_psn,
        path_mtu=transport.path_mtu,
        timeout_code=transport.timeout_code,
        retry_count=transport.retry_count,
        rnr_retry=transport.rnr_retry,
        rnr_timer_code=transport.rnr_timer_code,
        ack_every=transport.ack_every,
        trace=scenario.trace,
    )  # fmt: skip
