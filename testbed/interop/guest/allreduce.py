"""Case kind `allreduce`: the ranks of a ring that live in the guest, each a `VerbsWorker` on a device of its own.

Option `linger`: ranks of the ring live elsewhere and may still need our ACKs when ours are done. So the queue pairs
stay until the host cancels.
"""

from __future__ import annotations

import time

from testbed.interop.guest.session import CancelSign
from testbed.interop.protocol import CaseRequest, CaseResult, QpNames
from workloads.gradients import create_source
from workloads.machine import event_record
from workloads.verbs import VerbsWorker

__all__ = ["open_session"]

_LONGEST_SLEEP_NS = 5_000_000


class _AllReduce:
    def __init__(self, request: CaseRequest) -> None:
        self._workers: list[tuple[str, VerbsWorker]] = []
        self._records: list[dict[str, object]] = []
        try:
            for asked in request.workers:
                config, c = asked.config, asked.config.collective
                source = create_source(config.workload, c.rank, c.size, c.arithmetic.dtype)
                self._workers.append((config.name, VerbsWorker(config, asked.device, source)))
        except BaseException:
            self.close()
            raise
        every = [worker.names for _, worker in self._workers]
        self.names = tuple(QpNames(one.send_qpn, one.recv_qpn, one.base_va, one.rkey) for one in every)

    def run(self, request: CaseRequest, cancelled: CancelSign) -> CaseResult:
        origin = time.monotonic_ns()
        for asked, (_, worker) in zip(request.workers, self._workers, strict=True):
            worker.connect(asked.config)
        limit, error = origin + int(request.limit_s * 1e9), ""
        while (at := time.monotonic_ns()) < limit and not cancelled():
            self._turn(at - origin)
            if all(worker.finished or worker.failed for _, worker in self._workers):
                if not request.options.get("linger"):
                    break
                cancelled.announce_done()
        else:
            waiting = [name for name, worker in self._workers if not worker.finished and not worker.failed]
            if waiting:
                error = f"{', '.join(waiting)} did not end within {(time.monotonic_ns() - origin) / 1e9:.1f} s"
        now = time.monotonic_ns() - origin
        for _, worker in self._workers:
            worker.finish(now)
        self._collect(now)
        return CaseResult(error, tuple(self._records))

    def close(self) -> None:
        for _, worker in self._workers:
            worker.close()

    def _turn(self, now: int) -> None:
        """Turns of all workers whose time has come, then a sleep until the next one's."""
        due = now + _LONGEST_SLEEP_NS
        for _, worker in self._workers:
            timer = worker.get_timer()
            if timer is not None and timer <= now:
                worker.handle_timer(now)
                timer = worker.get_timer()
            due = due if timer is None else min(due, timer)
        self._collect(now)
        if due > now:
            time.sleep((due - now) / 1e9)

    def _collect(self, now: int) -> None:
        for name, worker in self._workers:
            while (event := worker.next_event()) is not None:
                self._records.append({"t": now, "node": name, **event_record(event)})


def open_session(request: CaseRequest) -> _AllReduce:
    return _AllReduce(request)
