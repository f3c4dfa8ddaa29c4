"""Queue pairs and rings of them, as a plan draws them."""

from __future__ import annotations

from testbed.plan.congestion import scaled_dcqcn
from testbed.scenario.model import Scenario
from topologies import Node
from workloads.config import DcqcnConfig, IrnConfig, QpConfig
from workloads.wire import Envelope

__all__ = ["BASE_VA", "ECT0", "queue_pair", "receive_va"]

ECT0 = 0b10
"""ECN-capable (RFC 3168)"""
BASE_VA = 0x10_0000_0000
"""receive ring number n begins at n + 1 times this"""


def receive_va(rank: int) -> int:
    """Where the receive ring of that rank begins, as its peers know it."""
    return BASE_VA * (rank + 1)


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
    dscp: int = 0,
    irn: IrnConfig | None = None,
) -> QpConfig:
    """The end at host `own` of a connection with host `peer`; the rest is what the scenario says of all. `irn`: None
    where the connection uses go-back-N."""
    transport = scenario.transport
    return QpConfig(
        qpn=qpn,
        peer_qpn=peer_qpn,
        envelope=Envelope(
            src_mac=own.mac, dst_mac=peer.mac, src_ip=own.ip, dst_ip=peer.ip, sport=sport, tos=dscp << 2 | ECT0
        ),
        first_psn=first_psn,
        peer_first_psn=peer_first_psn,
        path_mtu=transport.path_mtu,
        timeout_code=transport.chosen_timeout_code,
        retry_count=transport.retry_count,
        rnr_retry=transport.rnr_retry,
        rnr_timer_code=transport.rnr_timer_code,
        ack_every=transport.ack_every,
        trace=scenario.trace,
        dcqcn=_dcqcn(scenario, own),
        recovery="gbn" if irn is None else transport.recovery,
        irn=irn or IrnConfig(),
        trimming=scenario.topology.trims,
    )  # fmt: skip


def _dcqcn(scenario: Scenario, host: Node) -> DcqcnConfig | None:
    """Its line rate is that of the host's link."""
    transport = scenario.transport
    if transport.congestion_control != "dcqcn":
        return None
    _, link, _ = next(iter(scenario.topology.ports(host.name)))
    return scaled_dcqcn(transport.dcqcn, link.shape.rate_bps, transport.path_mtu)
