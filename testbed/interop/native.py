"""The same cases on this host's own kernel, where it has rdma_rxe. The programme that runs in a guest runs here as a
process. Its devices' wires lead to our switch as a guest's do."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from testbed.interop.boot import BootedGuest, leave_nothing
from testbed.interop.guestvm import GuestMachine
from testbed.interop.image.stage import stage_code
from testbed.interop.nativenet import NativeNetwork
from testbed.interop.protocol import GuestFacts, Mailbox
from testbed.interop.wires import Wires
from testbed.kernel.ledger import Ledger, NamespaceEntry
from testbed.kernel.rxe import has_rxe, load_rxe
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["boot_native", "runner_command"]

_READY_S = 60.0
_TOP = Path(__file__).resolve().parents[2]
_RUN = """PYTHONPATH="$1" /usr/bin/python3 -u -m testbed.interop.guest.runner "$2" "$2/ready" >"$2/runner.log" 2>&1
echo $? >"$2/status.new"
mv "$2/status.new" "$2/status"
"""
_OWN_SYSFS = """mount -t sysfs sysfs /sys || exit 70
"""
"""devices of a namespace are seen in a sysfs that was mounted there"""


def runner_command(code: Path, out: Path, *, initial: bool) -> list[str]:
    """What stands in for QEMU. It leaves the runner's exit status where a guest leaves it."""
    if initial:
        return ["/bin/sh", "-c", _RUN, "sh", str(code), str(out)]
    return ["unshare", "--mount", "/bin/sh", "-c", _OWN_SYSFS + _RUN, "sh", str(code), str(out)]


@contextlib.contextmanager
def boot_native(
    devices: int,
    run_dir: Path,
    run: str,
    *,
    initial: bool,
    build: Callable[..., contextlib.AbstractContextManager[NativeNetwork]] = NativeNetwork.build,
    rxe: Callable[[], bool] = has_rxe,
    load: Callable[[], None] = load_rxe,
) -> Iterator[BootedGuest]:
    """As `boot_guest`, without a guest. `initial`: the devices live in the initial network namespace, else in one of
    ours. Raises HostCapabilityError when this host cannot do that, InternalError when the runner does not come up."""
    if not rxe():
        raise HostCapabilityError(
            f"rdma_rxe in this host's kernel {platform.release()}", "--where qemu runs a stock kernel that has it"
        )
    if os.geteuid() != 0:
        raise HostCapabilityError("the right to make interfaces and RDMA devices", "run as root, or --where qemu")
    load()
    out, code = run_dir / "guest", run_dir / "code"
    out.mkdir(parents=True)
    stage_code(_TOP, code)
    ledger = Ledger.create(run, run_dir)
    with contextlib.ExitStack() as undo:
        undo.callback(leave_nothing, ledger)
        began = time.monotonic()
        network = undo.enter_context(build(devices, initial=initial))
        ledger.note(NamespaceEntry(network.private.inode, "wires"))
        with network.among_devices():
            machine = GuestMachine(runner_command(code, out, initial=initial), (), ledger, run_dir, out)
        undo.callback(machine.end, 0.0)
        (out / "ready").touch()
        mailbox = Mailbox(out)
        machine.wait_for(lambda: mailbox.has(None, "guest"), _READY_S, "the runner")
        guest_facts = mailbox.take(None, "guest", GuestFacts)
        assert guest_facts is not None, "it was there"
        places = {device.interface: device for device in guest_facts.devices}
        missing = [interface for interface in network.interfaces if interface not in places]
        if missing:
            raise HostCapabilityError(
                f"an RDMA device on {missing[0]} with an IPv4 address, in its network namespace",
                "a kernel whose rdma_rxe works there (that of Linux 6.1 knows the initial one only: --where initial)",
            )
        facts = replace(guest_facts, devices=tuple(places[interface] for interface in network.interfaces))
        wires = Wires.over(network.ports)
        yield BootedGuest(machine, wires, mailbox, facts, ledger, time.monotonic() - began)
        mailbox.put(None, "stop", {})
        if machine.end() != 0:
            raise InternalError(f"the runner did not end well\n{machine.evidence()}")
