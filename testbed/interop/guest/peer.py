"""Case kind `peer`: one queue pair of a device against our own endpoint on the host.

Options: `device`, and `config`, a `PeerConfig`. The queue pair answers until the host cancels, since its other end may be
slower. Facts: `PeerSide.report()`, and `failures`: each a list of the status and the detail of a `QpFailed`. Records: what the
port counted.
"""

from __future__ import annotations

import time

from testbed.interop.guest.peer_side import PeerConfig, PeerSide
from testbed.interop.guest.session import CancelSign
from testbed.interop.protocol import CaseRequest, CaseResult, QpNames, decode
from workloads.events import QpFailed
from workloads.machine import event_record
from workloads.verbs import PeerNames, VerbsEndpoint
from workloads.verbs.libibverbs import VerbsNic

__all__ = ["open_session"]

_SLEEP_S = 0.0005


class _Peer:
    def __init__(self, request: CaseRequest) -> None:
        self._config = decode(PeerConfig, request.options["config"])
        self._device = str(request.options["device"])
        self._nic = VerbsNic(self._device, self._config.qp.envelope.src_ip)
        try:
            self._endpoint = VerbsEndpoint(self._nic)
            self._endpoint.add_qp(self._config.qp)
            self._side = PeerSide(self._config, self._endpoint)
        except BaseException:
            self.close()
            raise
        region = self._endpoint.region_of(self._config.rkey)
        assert region is not None, "the side registered it"
        qpn = self._endpoint.real_qpn(self._config.qp.qpn)
        self.names = (QpNames(qpn, qpn, region.address, region.rkey),)

    def run(self, request: CaseRequest, cancelled: CancelSign) -> CaseResult:
        true, origin, endpoint = decode(PeerConfig, request.options["config"]), time.monotonic_ns(), self._endpoint
        offset = true.peer_base_va - self._config.peer_base_va
        endpoint.connect(self._config.qp.qpn, PeerNames(true.qp.peer_qpn, true.peer_rkey, offset))
        self._side.start(0)
        while (now := time.monotonic_ns() - origin) < request.limit_s * 1e9 and not cancelled():
            endpoint.handle_timer(now)
            self._side.handle_timer(now)
            self._side.advance()
            if self._side.done:
                cancelled.announce_done()
            if not endpoint.has_news:
                time.sleep(_SLEEP_S)
        failures = []
        while (event := endpoint.next_event()) is not None:
            if isinstance(event, QpFailed):
                failures.append([event.status, event.detail])
        records = [{"t": now, "node": self._device, **event_record(event)} for event in endpoint.statistics()]
        error = "" if self._side.done else f"{self._device} was not done within {request.limit_s:g} s"
        return CaseResult(error, tuple(records), {**self._side.report(), "failures": failures})

    def close(self) -> None:
        self._nic.close()


def open_session(request: CaseRequest) -> _Peer:
    return _Peer(request)
