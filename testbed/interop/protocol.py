"""How host and guest speak: JSON files in one folder that both see (9p), each written whole and renamed into place.

One guest boot and one Python interpreter serve many cases, since a boot costs seconds and so does loading pyverbs.
Files in the folder, NNNN being the case's number in this boot:

| file | writer | holds | then |
|---|---|---|---|
| `guest.json` | guest, once | `GuestFacts`: devices, versions | the host opens the first case |
| `NNNN.open.json` | host | `CaseRequest`: kind, workers with QPNs, keys and addresses that mean nothing yet | the guest makes queue pairs in INIT and registers memory |
| `NNNN.opened.json` | guest | `Opened`: per worker the names that the device chose | the host amends its plan, sets up switch, rings and faults, starts to serve the wires |
| `NNNN.start.json` | host | `CaseRequest` again, now with the true QPNs, keys and addresses of all ranks | the guest goes to RTR and RTS, posts receives, runs |
| `NNNN.result.json` | guest | `CaseResult`: records as in a history, completion statuses, or what failed | the host judges |
| `NNNN.connected.json` | guest | `{}`, kind `peer`: its queue pairs are in RTS | the host's endpoint starts |
| `NNNN.failed.json` | guest | `{}`, kind `peer`: its queue pair failed | the host cancels a little later |
| `NNNN.done.json` | guest | `{}`: its workers are done, and answer peers that live on the host (option `linger`) | the host cancels when its ranks are done as well |
| `NNNN.cancel.json` | host | `{}` | the guest ends the case at once and writes its result |
| `stop.json` | host | `{}` | the guest leaves its loop with status 0 and powers off |
| `status` | guest | exit status of the set-up script; absent: the guest died before | |
| `setup.log`, `runner.log` | guest | for people | |

The host alone knows faults and verdicts. A worker may also be missing in the request. That rank lives on the host
(our soft endpoint), and the guest's workers have it as a neighbour. Workers of the same case share one interpreter and
one loop; none may block.

Times in records are ns since the guest read `start`. The host adds what its own clock showed when it wrote that file.

What the guest's runner asks of `workloads.verbs` for the kind `allreduce` (one object per rank):

    worker = VerbsWorker(config: WorkerConfig, device: str, source: GradientSource)
                                   # INIT, memory registered (receive ring of 2N slots at its own address), nothing
                                   # posted
    worker.names                   # QpNames: what the device chose
    worker.connect(config)         # the same WorkerConfig with true numbers: RTR, RTS, receives posted
    worker.handle_timer(now) -> None    # start when due, poll both completion queues, post what credit allows; never blocks
    worker.next_event() -> Event | None # as of `workloads.worker.WorkerMachine`: the same classes of workloads.events
    worker.finished, worker.failed
    worker.finish(now)             # queue last events (RcStatistics, as far as the device reports them)
    worker.close()                 # destroys all; idempotent; safe in every state

`to_successor.first_psn` is the worker's own PSN, `from_predecessor.peer_first_psn` its predecessor's.
`to_successor.envelope` and `from_predecessor.envelope` hold addresses of both ends (the device's GID index follows from
`src_ip`). The first call of `handle_timer` starts the traffic. Errors when opening are raised as `HostCapabilityError`
or `ScenarioError`; later errors come as `WorkerFailed` and `QpFailed`.
"""  # noqa: E501

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from workloads.codec import PLAIN
from workloads.config import WorkerConfig

__all__ = [
    "CaseRequest",
    "CaseResult",
    "DeviceFacts",
    "GuestFacts",
    "Mailbox",
    "Opened",
    "QpNames",
    "WorkerRequest",
]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One RDMA device of the guest."""

    device: str
    """name of the device, for example rxe0"""
    interface: str
    mac: bytes
    ip: bytes
    gid_index: int
    """index of the IPv4 address"""


@dataclass(frozen=True, slots=True)
class GuestFacts:
    devices: tuple[DeviceFacts, ...]
    """device i is host h(i+1) of a rack, on port i of the switch"""
    versions: dict[str, str]
    """kernel, rdma-core, python"""


@dataclass(frozen=True, slots=True)
class QpNames:
    """What a device chose for one worker, and peers and switch must know."""

    send_qpn: int
    """number of the queue pair to the successor"""
    recv_qpn: int
    """number of the queue pair from the predecessor"""
    base_va: int = 0
    """address where the receive ring begins (write)"""
    rkey: int = 0


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    device: str
    config: WorkerConfig


@dataclass(frozen=True, slots=True)
class CaseRequest:
    """`open` and `start`."""

    case: str
    """its id, for logs"""
    kind: str
    """allreduce, peer, command"""
    limit_s: float
    """the guest gives up then, and says so"""
    workers: tuple[WorkerRequest, ...] = ()
    """requests of the ranks that live in the guest, ascending"""
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    """options of the kind: `peer` and `command` say theirs"""


@dataclass(frozen=True, slots=True)
class Opened:
    error: str
    """empty: all is open; else the case is over"""
    names: tuple[QpNames, ...] = ()
    """names in the order of the request's workers"""


@dataclass(frozen=True, slots=True)
class CaseResult:
    error: str
    """empty: the case ran to its end (a worker that failed is an end); else why it could not"""
    records: tuple[dict[str, Any], ...] = ()
    """`{"t", "node", "event", ...}`"""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    """facts of the kind"""


class Mailbox:
    """The shared folder. A file is there whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, case: int | None, what: str) -> Path:
        """`what`: guest, stop (no case), open, opened, start, result, cancel."""
        return self.folder / (f"{what}.json" if case is None else f"{case:04d}.{what}.json")

    def put(self, case: int | None, what: str, value: Any) -> None:
        path = self.path(case, what)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(PLAIN.encode(value), separators=(",", ":")), encoding="utf-8")
        fresh.rename(path)

    def has(self, case: int | None, what: str) -> bool:
        return self.path(case, what).exists()

    def take(self, case: int | None, what: str, kind: type[_T]) -> _T | None:
        """The file's value; None while there is no such file. Raises ValueError for what is no `kind`: the other side
        runs code of another version."""
        try:
            text = self.path(case, what).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return PLAIN.decode(kind, json.loads(text))
