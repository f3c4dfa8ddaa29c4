"""A booted guest with its wires and its mailbox, and everything gone afterwards."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.interop.guestvm import GuestMachine
from testbed.interop.image.prepare import Image
from testbed.interop.image.stage import stage_code
from testbed.interop.protocol import GuestFacts, Mailbox
from testbed.interop.qemu import FolderShare, QemuWire, qemu_command
from testbed.interop.wires import Wires
from testbed.kernel.cleanup import remove_run
from testbed.kernel.ledger import Ledger
from topologies import format_mac, host_mac
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["BootedGuest", "boot_guest", "leave_nothing"]

_SCRIPT = "testbed/interop/guest/setup.sh"
_BOUND_S, _BOOT_S = 10.0, 120.0
_TOP = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class BootedGuest:
    machine: GuestMachine
    wires: Wires
    mailbox: Mailbox
    facts: GuestFacts
    ledger: Ledger
    booted_s: float
    """time from QEMU's start to the runner's first word"""


@contextlib.contextmanager
def boot_guest(image: Image, devices: int, run_dir: Path, run: str) -> Iterator[BootedGuest]:
    """A guest with `devices` rxe devices; device i is host h(i+1) of a rack. `run_dir` gets its logs and the shared
    folder; `run` is the name of its ledger. The guest is ended when the context is left. Raises HostCapabilityError, or
    InternalError with the logs' ends when it does not come up."""
    out = run_dir / "guest"
    out.mkdir(parents=True)
    code = run_dir / "code"
    stage_code(_TOP, code)
    try:
        ledger = Ledger.create(run, run_dir)
    except OSError as error:
        raise HostCapabilityError(
            f"a state folder that we can write to ({error})", "run as root, or set INA_STATE_DIR to a folder of yours"
        ) from error
    with contextlib.ExitStack() as undo:
        undo.callback(leave_nothing, ledger)
        wires = [
            QemuWire(format_mac(host_mac(n + 1)), ledger.folder / f"{n}.vm", ledger.folder / f"{n}.sw")
            for n in range(devices)
        ]
        command = qemu_command(
            vmlinux=image.vmlinux,
            initrd=image.initrd,
            console=run_dir / "console.log",
            shares=(
                FolderShare("usr", Path("/usr")),
                FolderShare("etc", image.etc),
                FolderShare("code", code),
                FolderShare("out", out, writable=True),
            ),
            wires=wires,
            script=_SCRIPT,
        )
        ends = Wires([wire.switch_end for wire in wires])
        undo.callback(ends.close)
        began = time.monotonic()
        machine = GuestMachine(command, wires, ledger, run_dir, out)
        undo.callback(machine.end, 0.0)
        mailbox = Mailbox(out)
        machine.wait_for(lambda: all(wire.guest_end.exists() for wire in wires), _BOUND_S, "QEMU's wires")
        try:
            ends.connect([wire.guest_end for wire in wires])
        except OSError as error:
            raise InternalError(f"QEMU left its wires ({error})\n{machine.evidence()}") from error
        machine.wait_for(lambda: mailbox.has(None, "guest"), _BOOT_S, "the guest's runner")
        facts = mailbox.take(None, "guest", GuestFacts)
        assert facts is not None, "it was there"
        if len(facts.devices) != devices:
            raise InternalError(f"the guest has {len(facts.devices)} devices, not {devices}\n{machine.evidence()}")
        yield BootedGuest(machine, ends, mailbox, facts, ledger, time.monotonic() - began)
        mailbox.put(None, "stop", {})
        if machine.end() != 0:
            raise InternalError(f"the guest did not end well\n{machine.evidence()}")


def leave_nothing(ledger: Ledger) -> None:
    """Close a ledger of this process and remove all that it lists."""
    entries = ledger.entries()
    ledger.close()
    remove_run(ledger.folder, ledger.owner, [entry for entry in entries if getattr(entry, "pid", None) != os.getpid()])
