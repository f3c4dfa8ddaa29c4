"""netem, where the kernel has it and chance is enough: it rolls dice of its own, so it replays nothing and reports no
hit.

tc-netem(8) is the source of the arguments. pyroute2's encoder knows no Gilbert-Elliott loss, so this uses the command
line.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from testbed.faults.model import Burst, Corrupt, Delay, Duplicate, Loss, Match, PacketFault, Reorder
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["Netem", "TcRunner", "netem_arguments", "probe_netem", "run_command", "why_not"]

MISSING = "the netem qdisc"
REMEDY = (
    "load the module sch_netem (Debian: apt-get install linux-image-amd64, then modprobe sch_netem), or end the link "
    "at a switch node of the testbed. The ports of such a node delay, reorder and lose packets themselves"
)


class TcRunner(Protocol):
    """Runs a command: (exit status, stdout and stderr)."""

    def __call__(self, command: Sequence[str]) -> tuple[int, str]: ...


def run_command(command: Sequence[str]) -> tuple[int, str]:
    """The real Runner; status 127 when there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except FileNotFoundError as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


def why_not(fault: PacketFault) -> str | None:
    """Why netem cannot serve this fault; None when it can."""
    if not isinstance(fault, Loss | Burst | Corrupt | Duplicate | Reorder | Delay):
        return f"netem has no {type(fault).__name__}"
    if fault.match != Match():
        return "netem does not know packets by identity"
    if fault.window.start_ns or fault.window.stop_ns is not None:
        return "netem has no windows"
    if isinstance(fault, Corrupt) and (fault.repair_icrc or fault.bit is not None):
        return "netem flips any bit and repairs nothing"
    if isinstance(fault, Duplicate) and fault.delay_ns:
        return "netem does not delay copies"
    if isinstance(fault, Delay) and fault.rate < 1:
        return "netem delays every packet"
    return None


def netem_arguments(faults: Sequence[PacketFault], *, delay_ns: int = 0, jitter_ns: int = 0) -> list[str]:
    """Arguments behind `netem` for these faults and the link's own delay. Raises InternalError for a fault that netem
    cannot serve, and for two that need the same argument (one qdisc has each of them once)."""
    parts: dict[str, list[str]] = {}
    for fault in faults:
        if (reason := why_not(fault)) is not None:
            raise InternalError(f"fault {fault.name}: {reason}")
        if isinstance(fault, Delay):
            delay_ns, jitter_ns = delay_ns + fault.delay_ns, jitter_ns + fault.jitter_ns
            continue
        name, words = _words(fault)
        if name in parts:
            raise InternalError(f"fault {fault.name}: one netem qdisc takes one `{name}`")
        parts[name] = words
    if "reorder" in parts:
        # netem turns it round: those that are struck wait, and the percentage is of those that leave at once
        held = next(fault for fault in faults if isinstance(fault, Reorder))
        if delay_ns or jitter_ns:
            raise InternalError(f"fault {held.name}: netem cannot both delay and reorder")
        delay_ns = held.delay_ns
    if delay_ns or jitter_ns:
        delay = ["delay", _time(delay_ns), *([_time(jitter_ns)] if jitter_ns else [])]
        parts = {"delay": delay, **parts}
    return [word for words in parts.values() for word in words]


def _words(fault: PacketFault) -> tuple[str, list[str]]:
    if isinstance(fault, Burst):
        chances = (fault.rate, fault.recover, fault.loss_bad, fault.loss_good)
        return "loss", ["loss", "gemodel", *map(_percent, chances)]
    if isinstance(fault, Reorder):
        return "reorder", ["reorder", _percent(1 - fault.rate)]
    name = type(fault).__name__.lower()
    return name, [name, _percent(fault.rate)]


def _time(ns: int) -> str:
    """tc takes microseconds with a fraction, and no nanoseconds."""
    return f"{ns // 1000}.{ns % 1000:03d}".rstrip("0").rstrip(".") + "us"


def _percent(rate: float) -> str:
    return f"{rate * 100:.6f}".rstrip("0").rstrip(".") + "%"


def probe_netem(interface: str, runner: TcRunner = run_command) -> None:
    """Put a netem qdisc on an interface of ours and take it away. Raises HostCapabilityError when the kernel has
    none."""
    Netem(interface, ["delay", "1000us"], runner).detach()


@dataclass(frozen=True, slots=True)
class _Setting:
    word: str
    pattern: str


_READ_BACK = tuple(_Setting(word, rf"\b{word}\b") for word in ("delay", "loss", "corrupt", "duplicate", "reorder"))


class Netem:
    """A netem qdisc at the root of an interface, read back after it was set: tc may succeed with less than was
    asked."""

    def __init__(self, interface: str, arguments: Sequence[str], runner: TcRunner = run_command) -> None:
        """Raises HostCapabilityError when the kernel has no netem, InternalError when it took something else."""
        self._interface, self._runner = interface, runner
        command = ["tc", "qdisc", "add", "dev", interface, "root", "netem", *arguments]
        status, output = runner(command)
        if status:
            raise _refused(command, status, output)
        status, shown = runner(["tc", "qdisc", "show", "dev", interface])
        lines = [line for line in shown.splitlines() if "qdisc netem" in line and " root " in f"{line} "]
        missing = [
            item.word for item in _READ_BACK if item.word in arguments and not re.search(item.pattern, "".join(lines))
        ]
        if status or not lines or missing:
            runner(["tc", "qdisc", "del", "dev", interface, "root"])
            lacks = f" without {', '.join(missing)}" if lines else ""
            raise InternalError(
                f"{interface}: asked for `netem {' '.join(arguments)}`, the kernel shows{lacks}: {shown.strip()}"
            )

    def detach(self) -> None:
        """The interface gets its default qdisc back."""
        self._runner(["tc", "qdisc", "del", "dev", self._interface, "root"])


def _refused(command: Sequence[str], status: int, output: str) -> HostCapabilityError | InternalError:
    said = output.strip().splitlines()[0] if output.strip() else f"exit status {status}"
    if re.search(r"qdisc kind is unknown|qdisc not found", output):
        return HostCapabilityError(MISSING, REMEDY)
    if status == 127:
        return HostCapabilityError("the tc command", "apt-get install iproute2")
    if "not permitted" in output:
        return HostCapabilityError("the right to change qdiscs", "run as root")
    return InternalError(f"`{' '.join(command)}`: {said}")
