"""Case kind `peer`: two queue pairs of a device against our own endpoint on the host.

Options: `device`, and `config`, a `PeerConfig`. The queue pairs answer until the host cancels, since the other end may
be slower. Facts: `PeerSide.report()`, and `failures`: each a list of the status and the detail of a `QpFailed`.
Records: what the port counted.
"""

from __future__ import annotations

import time

from testbed.interop.guest.peer_side import PeerConfig, PeerSide
from testbed.interop.guest.session import CancelSign
from testbed.interop.protocol import CaseRequest, CaseResult, QpNames
from workloads.codec import PLAIN
from workloads.events import QpFailed
from workloads.machine import event_record
from workloads.verbs import PeerNames, VerbsEndpoint
from workloads.verbs.libibverbs import VerbsNic

__all__ = ["open_session"]

_SLEEP_S = 0.0005


class _Peer:
    def __init__(self, request: CaseRequest) -> None:
        self._config = PLAIN.decode(PeerConfig, request.options["config"])
        self._device = str(request.options["device"])
        self._nic = VerbsNic(self._device, self._config.send_qp.envelope.src_ip)
        try:
            self._endpoint = VerbsEndpoint(self._nic)
            self._endpoint.add_qp(self._config.send_qp)
            self._endpoint.add_qp(self._config.receive_qp)
            self._side = PeerSide(self._config, self._endpoint)
        except BaseException:
            self.close()
            raise
        region = self._endpoint.region_of(self._config.rkey)
        assert region is not None, "the side registered it"
        send, receive = (self._endpoint.real_qpn(qp.qpn) for qp in (self._config.send_qp, self._config.receive_qp))
        self.names = (QpNames(send, receive, region.address, region.rkey),)

    def run(self, request: CaseRequest, cancelled: CancelSign) -> CaseResult:
        true, origin, endpoint = (
            PLAIN.decode(PeerConfig, request.options["config"]),
            time.monotonic_ns(),
            self._endpoint,
        )
        offset = true.peer_base_va - self._config.peer_base_va
        endpoint.connect(self._config.send_qp.qpn, PeerNames(true.send_qp.peer_qpn, true.peer_rkey, offset))
        endpoint.connect(self._config.receive_qp.qpn, PeerNames(true.receive_qp.peer_qpn))
        cancelled.announce("connected")
        self._side.start(0)
        while (now := time.monotonic_ns() - origin) < request.limit_s * 1e9 and not cancelled():
            endpoint.handle_timer(now)
            self._side.handle_timer(now)
            self._side.advance()
            if self._side.failed:
                cancelled.announce("failed")
            elif self._side.done:
                cancelled.announce_done()
            if not endpoint.has_news:
                time.sleep(_SLEEP_S)
        failures = []
        while (event := endpoint.next_event()) is not None:
            if isinstance(event, QpFailed):
                failures.append([event.status, event.detail])
        records = [{"t": now, "node": self._device, **event_record(event)} for event in endpoint.statistics()]
        late = time.monotonic_ns() - origin >= request.limit_s * 1e9
        error = f"{self._device} was not done within {request.limit_s:g} s" if late else ""
        return CaseResult(error, tuple(records), {**self._side.report(), "failures": failures})

    def close(self) -> None:
        self._nic.close()


def open_session(request: CaseRequest) -> _Peer:
    return _Peer(request)
