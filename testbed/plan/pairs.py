"""Queue pairs and rings of them, as a plan draws them."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.plan.congestion import scaled_dcqcn
from testbed.scenario.model import Scenario
from topologies import Node
from workloads.config import DcqcnConfig, IrnConfig, QpConfig
from workloads.wire import Envelope

__all__ = ["BASE_VA", "ECT0", "PairEnd", "queue_pair", "receive_va"]

ECT0 = 0b10
"""ECN-capable (RFC 3168)"""
BASE_VA = 0x10_0000_0000
"""receive ring number n begins at n + 1 times this"""


def receive_va(rank: int) -> int:
    """Where the receive ring of that rank begins, as its peers know it."""
    return BASE_VA * (rank + 1)


@dataclass(frozen=True, slots=True)
class PairEnd:
    """One end of a connection."""

    host: Node
    qpn: int
    first_psn: int = 0
    """of the packets that it sends"""


def queue_pair(
    scenario: Scenario, own: PairEnd, peer: PairEnd, *, sport: int, dscp: int = 0, irn: IrnConfig | None = None
) -> QpConfig:
    """The queue pair at the end `own` of a connection; the rest is what the scenario says of all. `irn`: None where
    the connection uses go-back-N."""
    transport = scenario.transport
    return QpConfig(
        qpn=own.qpn,
        peer_qpn=peer.qpn,
        envelope=Envelope(
            src_mac=own.host.mac, dst_mac=peer.host.mac, src_ip=own.host.ip, dst_ip=peer.host.ip, sport=sport,
            tos=dscp << 2 | ECT0,
        ),
        first_psn=own.first_psn,
        peer_first_psn=peer.first_psn,
        path_mtu=transport.path_mtu,
        timeout_code=transport.chosen_timeout_code,
        retry_count=transport.retry_count,
        rnr_retry=transport.rnr_retry,
        rnr_timer_code=transport.rnr_timer_code,
        ack_every=transport.ack_every,
        trace=scenario.trace,
        dcqcn=_dcqcn(scenario, own.host),
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
