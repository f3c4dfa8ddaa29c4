"""Where the cases run: in guests under QEMU, or on this host's own kernel."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path

from testbed.history.verdict import Verdict
from testbed.interop.cases import Case, choose_cases
from testbed.interop.guest_cases import Boot, Task, serve_guest
from testbed.interop.native import boot_native
from testbed.kernel.rxe import has_rxe
from workloads.errors import HostCapabilityError, InternalError

__all__ = ["choose_platform", "native_boot", "self_check"]

_SELF_CHECK = "shape/2-hosts-int32-1"


def native_boot(devices: int, where: str) -> Boot:
    return lambda run_dir, run: boot_native(devices, run_dir, run, initial=where == "initial")


def choose_platform(
    where: str,
    folder: Path,
    say: Callable[[str], None],
    *,
    rxe: Callable[[], bool] = has_rxe,
    check: Callable[[str, Path], str] | None = None,
) -> str:
    """qemu, host or initial; `say` is called with which and why. `where`: one of these, or auto: host where that works,
    else qemu. On `host` devices are in a network namespace of ours, on `initial` in the initial one. `folder`: a new
    one, for what the self-check leaves. Raises HostCapabilityError when it was asked for and does not work."""
    check = check or self_check
    kernel = f"this host's kernel {platform.release()}"
    if where == "qemu" or (where == "auto" and not rxe()):
        reason = "" if where == "qemu" else f"{kernel} has no rdma_rxe: "
        say(f"{reason}the cases run on a stock kernel under QEMU")
        return "qemu"
    if not rxe():
        raise HostCapabilityError(f"rdma_rxe in {kernel}", "--where qemu runs a stock kernel that has it")
    chosen = "host" if where == "auto" else where
    place = "in the initial network namespace" if chosen == "initial" else "in a network namespace of ours"
    problem = check(chosen, folder)
    if not problem:
        say(f"the cases run on {kernel}, its rxe devices {place}")
        return chosen
    if where == "auto":
        say(f"rxe of {kernel} does not work {place} ({problem}): the cases run on a stock kernel under QEMU")
        return "qemu"
    remedy = (
        "--where qemu" if chosen == "initial" else "--where qemu, or --where initial on a machine that is yours alone"
    )
    raise HostCapabilityError(f"an rxe that works {place} ({kernel}: {problem})", remedy)


def self_check(where: str, folder: Path) -> str:
    """Run one small case there; why it does not work, empty when it does."""
    found = choose_cases((_SELF_CHECK,))
    case = found[0]
    assert isinstance(case, Case), "it has hosts"
    tasks, outcomes = iter([Task(1, case, 1)]), []
    folder.mkdir(parents=True)
    try:
        serve_guest(
            native_boot(case.hosts, where),
            folder,
            1,
            take=lambda: next(tasks, None),
            tell=lambda task, outcome: outcomes.append(outcome),
            say=lambda text: None,
            keep=False,
        )
    except (HostCapabilityError, InternalError, OSError) as error:
        return str(error).splitlines()[0]
    return "" if outcomes[0].verdict is Verdict.PASS else outcomes[0].detail
