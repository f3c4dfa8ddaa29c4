"""The guest's end of the mailbox: one interpreter for all cases of a boot."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import sys
import time
import traceback
from pathlib import Path

from testbed.interop.guest.session import CancelSign, GuestSession
from testbed.interop.protocol import CaseRequest, CaseResult, DeviceFacts, GuestFacts, Mailbox, Opened
from workloads.verbs.libibverbs import load_pyverbs

__all__ = ["find_devices", "main", "serve", "wait_for_devices"]

_POLL_S = 0.005
_READY_S = 60.0
_HANDLERS = {
    "allreduce": "testbed.interop.guest.allreduce",
    "peer": "testbed.interop.guest.peer",
    "command": "testbed.interop.guest.command",
}


def find_devices(root: Path = Path("/sys/class/infiniband")) -> tuple[DeviceFacts, ...]:
    """All RDMA devices with an IPv4 address, by name."""
    found = []
    for folder in sorted(root.iterdir(), key=lambda path: (len(path.name), path.name)):
        gids = folder / "ports" / "1" / "gids"
        for index in range(16):
            text = (gids / str(index)).read_text(encoding="ascii").strip() if (gids / str(index)).exists() else ""
            if text.startswith("0000:0000:0000:0000:0000:ffff:"):
                interface = (
                    (folder / "ports" / "1" / "gid_attrs" / "ndevs" / str(index)).read_text(encoding="ascii").strip()
                )
                mac = Path(f"/sys/class/net/{interface}/address").read_text(encoding="ascii").strip()
                ip = bytes.fromhex(text[30:].replace(":", ""))
                found.append(DeviceFacts(folder.name, interface, bytes.fromhex(mac.replace(":", "")), ip, index))
                break
    return tuple(found)


def serve(mailbox: Mailbox) -> None:
    """Cases in the order of their numbers, until the host says stop."""
    number = 1
    while not mailbox.has(None, "stop"):
        request = mailbox.take(number, "open", CaseRequest)
        if request is None:
            time.sleep(_POLL_S)
            continue
        _serve_case(mailbox, number, request)
        number += 1


def _serve_case(mailbox: Mailbox, number: int, request: CaseRequest) -> None:
    print(f"case {number} {request.case}: open", flush=True)
    try:
        session: GuestSession = importlib.import_module(_HANDLERS[request.kind]).open_session(request)
    except Exception as error:
        mailbox.put(number, "opened", Opened(_problem_of(error)))
        return
    try:
        mailbox.put(number, "opened", Opened("", session.names))
        cancelled = CancelSign(mailbox, number)
        start = None
        while start is None and not cancelled():
            start = mailbox.take(number, "start", CaseRequest)
            if start is None:
                time.sleep(_POLL_S)
        try:
            result = CaseResult("cancelled before its start") if start is None else session.run(start, cancelled)
        except Exception as error:
            result = CaseResult(_problem_of(error))
        mailbox.put(number, "result", result)
        print(f"case {number} {request.case}: {result.error or 'done'}", flush=True)
    finally:
        with contextlib.suppress(Exception):
            session.close()


def _problem_of(error: Exception) -> str:
    traceback.print_exc()
    return f"{type(error).__name__}: {error}"


def _uptime() -> str:
    return Path("/proc/uptime").read_text(encoding="ascii").split()[0]


def wait_for_devices(ready: Path) -> None:
    """Load what cases need, which takes seconds on an emulated processor, while the set-up script makes the devices;
    then wait for its file `ready`. Raises SystemExit when it does not come."""
    for handler in _HANDLERS.values():
        importlib.import_module(handler)
    load_pyverbs()
    print(f"up {_uptime()} s: imported", flush=True)
    deadline = time.monotonic() + _READY_S
    while not ready.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"no devices within {_READY_S:g} s")
        time.sleep(_POLL_S)


def main(folder: str, ready: str) -> None:
    mailbox = Mailbox(Path(folder))
    wait_for_devices(Path(ready))
    versions = {"kernel": platform.release(), "python": platform.python_version()}
    mailbox.put(None, "guest", GuestFacts(find_devices(), versions))
    serve(mailbox)
    sys.stdout.flush()
    # pyverbs says a lot when it is torn down at exit.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
