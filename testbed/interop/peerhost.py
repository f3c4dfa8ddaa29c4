"""The host's side of a peer test: our RC endpoint at the other end of a guest's wire."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from switch_nodes.dataplane import DataPlane, PlaneControl, PortStages
from testbed.captures.capture import PcapngTap
from testbed.faults.connections import Connection
from testbed.faults.link_filter import LinkFilter
from testbed.faults.matching import ConnectionTable
from testbed.faults.way import LinkWay
from testbed.history import Record, make_record
from testbed.history.codec import read_record
from testbed.interop.boot import BootedGuest
from testbed.interop.guest.peer_side import PeerConfig, PeerMessage, PeerSide
from testbed.interop.peercases import LINK, RXE, SOFT, PeerCase
from testbed.interop.protocol import CaseRequest, CaseResult, Opened, QpNames
from testbed.interop.softhost import ArpAnswering
from testbed.interop.wires import WireIo
from topologies import Direction
from workloads.codec import PLAIN
from workloads.config import QpConfig
from workloads.events import QpFailed
from workloads.machine import Buffer, Event
from workloads.rc.transport import RELIABLE
from workloads.wire import Envelope

__all__ = ["PeerMachine", "PeerRun", "case_filters", "content_seed", "open_peer_case", "peer_configs", "run_peer_case"]

_OPEN_S, _GRACE_S, _LOOK_NS = 60.0, 10.0, 5_000_000
_AFTER_FAILURE_NS = 500_000_000
_MAC, _IP = bytes.fromhex("02494e410f01"), bytes((10, 77, 1, 1))
_SEND_QPN, _RECEIVE_QPN, _RKEY, _BASE_VA = 0x5A01, 0x5A02, 0x5EED, 0x77_0000_0000
_FIRST_PSN = {RXE: 0xFFFFF8, SOFT: 0xFFFFF0}
_RNR_TIMER_CODE = 14
"""1.28 ms"""


@dataclass(frozen=True, slots=True)
class PeerRun:
    case: PeerCase
    seed: int
    error: str
    """why the case could not run to its end; empty: it did"""
    reports: dict[str, dict[str, Any]] = field(default_factory=dict)
    """reports of each end: `PeerSide.report()`"""
    records: list[Record] = field(default_factory=list)
    capture: Path | None = None
    seconds: float = 0.0


class PeerMachine:
    """Our endpoint and its half of the messages; waits for `release`."""

    def __init__(self, config: PeerConfig) -> None:
        self._endpoint = RELIABLE.endpoint((config.send_qp, config.receive_qp))
        self.side = PeerSide(config, self._endpoint)
        self._released = self._started = False
        self._events: deque[Event] = deque()
        self.failures: list[tuple[str, str]] = []
        """(status, detail)"""

    def release(self) -> None:
        self._released = True

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self._endpoint.receive_frame(port, frame, now)
        self.side.advance()

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        return self._endpoint.frames_to_send(now)

    def get_timer(self) -> int | None:
        if self._released and not self._started:
            return 0
        due = [at for at in (self._endpoint.get_timer(), self.side.get_timer()) if at is not None]
        return min(due, default=None)

    def handle_timer(self, now: int) -> None:
        if self._released and not self._started:
            self._started = True
            self.side.start(now)
        self._endpoint.handle_timer(now)
        self.side.handle_timer(now)
        self.side.advance()

    def next_event(self) -> Event | None:
        event = self._endpoint.next_event() or (self._events.popleft() if self._events else None)
        if isinstance(event, QpFailed):
            self.failures.append((event.status, event.detail))
        return event

    def finish(self, now: int) -> None:
        self._events.extend(self._endpoint.statistics())


def peer_configs(case: PeerCase, seed: int, mac: bytes, ip: bytes, names: QpNames | None) -> dict[str, PeerConfig]:
    """Both ends. `mac`, `ip`: of the device. `names`: what it chose, None while it has not."""
    chosen = names or QpNames(1, 2, 0x1_0000, 1)
    address = {RXE: (mac, ip), SOFT: (_MAC, _IP)}
    real = {RXE: chosen, SOFT: QpNames(_SEND_QPN, _RECEIVE_QPN, _BASE_VA, _RKEY)}
    sends = {RXE: case.rxe_sends, SOFT: case.soft_sends}

    def config(end: str, peer: str) -> PeerConfig:
        (src_mac, src_ip), (dst_mac, dst_ip) = address[end], address[peer]
        envelope = Envelope(src_mac, dst_mac, src_ip, dst_ip, sport=0xC077)

        def qp(qpn: int, peer_qpn: int, psn: int, peer_psn: int) -> QpConfig:
            return QpConfig(
                qpn, peer_qpn, envelope, psn, peer_psn, path_mtu=case.path_mtu, timeout_code=case.timeout_code,
                retry_count=case.retry_count, rnr_retry=case.rnr_retry, rnr_timer_code=_RNR_TIMER_CODE,
            )  # fmt: skip

        return PeerConfig(
            send_qp=qp(real[end].send_qpn, real[peer].recv_qpn, _FIRST_PSN[end], 0),
            receive_qp=qp(real[end].recv_qpn, real[peer].send_qpn, 0, _FIRST_PSN[peer]),
            sends=sends[end],
            receives=sends[peer],
            seed=content_seed(seed, end),
            base_va=real[end].base_va,
            rkey=real[end].rkey,
            peer_base_va=real[peer].base_va,
            peer_rkey=real[peer].rkey ^ (0x10101 if case.wrong_rkey else 0),
            receive_late_ns=case.receive_late_ns.get(end, 0),
            receive_short=case.receive_short,
        )

    return {RXE: config(RXE, SOFT), SOFT: config(SOFT, RXE)}


def open_peer_case(guest: BootedGuest, number: int, case: PeerCase, seed: int) -> CaseRequest:
    """As `testbed.interop.casehost.open_case`."""
    device = guest.facts.devices[0]
    planned = peer_configs(case, seed, device.mac, device.ip, None)
    request = CaseRequest(case.id, "peer", case.limit_s, (), _options(device.device, planned[RXE]))
    if not guest.mailbox.has(number, "open"):
        guest.mailbox.put(number, "open", request)
    return request


def run_peer_case(guest: BootedGuest, number: int, case: PeerCase, seed: int, folder: Path) -> PeerRun:
    """Case `number` of this boot, on its first device. Raises InternalError when the guest dies."""
    began, device = time.monotonic(), guest.facts.devices[0]
    request = open_peer_case(guest, number, case, seed)
    guest.machine.wait_for(lambda: guest.mailbox.has(number, "opened"), _OPEN_S, f"case {case.id} to open")
    opened = guest.mailbox.take(number, "opened", Opened)
    assert opened is not None, "it was there"
    if opened.error:
        return PeerRun(case, seed, opened.error, seconds=time.monotonic() - began)
    true = peer_configs(case, seed, device.mac, device.ip, opened.names[0])
    machine, records, capture = PeerMachine(true[SOFT]), list[Record](), folder / "peer.pcapng"
    tap = PcapngTap(capture, [LINK])
    guest.wires.drain()
    ingress, egress = case_filters(case, seed, true)
    director = PlaneControl(lambda now, event: records.append(make_record(now, SOFT, event)))
    plane = DataPlane(
        ArpAnswering(machine, _MAC, _IP), [], director, backpressure=True, stages=PortStages(ingress, egress, tap),
        io=WireIo(guest.wires.ports[:1]),
    )  # fmt: skip
    origin = time.monotonic_ns()
    guest.mailbox.put(number, "start", replace(request, options=_options(device.device, true[RXE])))
    try:
        plane.run(origin, until=_End(guest, number, machine, origin + int(case.limit_s * 1e9)))
        machine.finish(0)
        now = time.monotonic_ns() - origin
        while (event := machine.next_event()) is not None:
            records.append(make_record(now, SOFT, event))
    finally:
        tap.close()
    result = guest.mailbox.take(number, "result", CaseResult) or CaseResult("the guest gave no result")
    records += map(read_record, result.records)
    reports = {SOFT: {**machine.side.report(), "failures": machine.failures}, RXE: result.facts}
    return PeerRun(case, seed, result.error, reports, records, capture, time.monotonic() - began)


class _End:
    """Asked after every wake-up. Opens the gate once the device is connected, and ends the case when both ends are
    done, or a little after one has failed."""

    def __init__(self, guest: BootedGuest, number: int, machine: PeerMachine, limit_ns: int) -> None:
        self._guest, self._number, self._machine, self._limit_ns = guest, number, machine, limit_ns
        self._look_at = 0
        self._cancel_at: int | None = None

    def __call__(self) -> bool:
        now = time.monotonic_ns()
        if now < self._look_at:
            return False
        self._look_at = now + _LOOK_NS
        mailbox, number = self._guest.mailbox, self._number
        if mailbox.has(number, "result") or not self._guest.machine.running:
            return True
        if mailbox.has(number, "connected"):
            self._machine.release()
        side, failed = self._machine.side, self._machine.side.failed or mailbox.has(number, "failed")
        if self._cancel_at is None and failed:
            self._cancel_at = now + _AFTER_FAILURE_NS
        if (side.done and mailbox.has(number, "done") and not failed) or now > self._limit_ns:
            self._cancel_at = now
        if self._cancel_at is not None and now >= self._cancel_at and not mailbox.has(number, "cancel"):
            mailbox.put(number, "cancel", {})
        return now > self._limit_ns + int(_GRACE_S * 1e9)


def _options(device: str, config: PeerConfig) -> dict[str, Any]:
    return {"device": device, "config": PLAIN.encode(config)}


def content_seed(seed: int, end: str) -> int:
    """Of what an end sends in a case with this seed."""
    return 2 * seed + (end == SOFT)


def _packets(messages: tuple[PeerMessage, ...], mtu: int) -> tuple[int, ...]:
    return tuple(max(1, -(-message.size // mtu)) for message in messages)


def case_filters(
    case: PeerCase, seed: int, configs: dict[str, PeerConfig]
) -> tuple[dict[int, LinkFilter], dict[int, LinkFilter]]:
    """Ingress (from the device) and egress filters of our only port."""
    connections = []
    for rank, (end, peer) in enumerate(((RXE, SOFT), (SOFT, RXE))):
        qp, envelope = configs[end].send_qp, configs[end].send_qp.envelope
        connections.append(
            Connection(
                rank=rank,
                requests=(envelope.src_ip, envelope.dst_ip, qp.peer_qpn),
                answers=(envelope.dst_ip, envelope.src_ip, qp.qpn),
                first_psn=qp.first_psn,
                message_packets=_packets(configs[peer].receives, case.path_mtu),
            )
        )
    table, filters = ConnectionTable(connections), []
    for direction in (Direction.UP, Direction.DOWN):
        faults = [fault for fault in case.faults if direction in fault.directions]
        made = LinkFilter(LinkWay(seed, LINK, direction, table), faults)
        filters.append({0: made} if faults else {})
    return filters[0], filters[1]
