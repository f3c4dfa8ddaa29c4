"""Where the cases run, and what is said of it."""

from __future__ import annotations

import contextlib
import platform
from types import SimpleNamespace

import pytest

from testbed.history.verdict import Verdict
from testbed.interop import platforms
from testbed.interop.judging import CaseOutcome
from testbed.interop.platforms import choose_platform, native_boot, self_check
from workloads.errors import HostCapabilityError, InternalError

KERNEL = f"this host's kernel {platform.release()}"
STOCK = "the cases run on a stock kernel under QEMU"


@pytest.mark.parametrize(
    ("where", "rxe", "problem", "chosen", "told"),
    [
        ("qemu", True, None, "qemu", STOCK),
        ("auto", False, None, "qemu", f"{KERNEL} has no rdma_rxe: {STOCK}"),
        (
            "auto",
            True,
            "no GID",
            "qemu",
            f"rxe of {KERNEL} does not work in a network namespace of ours (no GID): {STOCK}",
        ),
        ("auto", True, "", "host", f"the cases run on {KERNEL}, its rxe devices in a network namespace of ours"),
        ("host", True, "", "host", f"the cases run on {KERNEL}, its rxe devices in a network namespace of ours"),
        (
            "initial",
            True,
            "",
            "initial",
            f"the cases run on {KERNEL}, its rxe devices in the initial network namespace",
        ),
    ],
)
def test_the_choice_is_said_with_its_reason(where, rxe, problem, chosen, told, tmp_path):
    said, checked = [], []

    def check(place, folder):
        checked.append((place, folder))
        return problem

    assert choose_platform(where, tmp_path / "check", said.append, rxe=lambda: rxe, check=check) == chosen
    assert said == [told]
    expected = [] if problem is None else [("initial" if where == "initial" else "host", tmp_path / "check")]
    assert checked == expected


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (
            "host",
            (
                f"this machine lacks an rxe that works in a network namespace of ours ({KERNEL}: no GID); --where "
                "qemu, or "
                "--where initial on a machine that is yours alone"
            ),
        ),
        (
            "initial",
            f"this machine lacks an rxe that works in the initial network namespace ({KERNEL}: no GID); --where qemu",
        ),
    ],
)
def test_what_was_asked_for_and_does_not_work_is_refused(where, told, tmp_path):
    with pytest.raises(HostCapabilityError) as caught:
        choose_platform(where, tmp_path, lambda text: None, rxe=lambda: True, check=lambda place, folder: "no GID")
    assert str(caught.value) == told


@pytest.mark.parametrize("where", ["host", "initial"])
def test_a_kernel_without_rxe_is_not_even_tried(where, tmp_path):
    with pytest.raises(HostCapabilityError) as caught:
        choose_platform(where, tmp_path, lambda text: None, rxe=lambda: False, check=None)
    assert str(caught.value) == (
        f"this machine lacks rdma_rxe in {KERNEL}; --where qemu runs a stock kernel that has it"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("served", "problem"),
    [
        (Verdict.PASS, ""),
        (Verdict.FAIL, "liveness: 2 of 2 workers did not finish"),
        (InternalError("no sign of the runner within 60 s\nlogs"), "no sign of the runner within 60 s"),
        (HostCapabilityError("rxe0", "another kernel"), "this machine lacks rxe0; another kernel"),
        (PermissionError(1, "Operation not permitted"), "[Errno 1] Operation not permitted"),
    ],
)
def test_the_self_check_is_a_case(monkeypatch, tmp_path, served, problem):
    def serve_guest(boot, run_dir, guest, *, take, tell, say, keep):
        task = take()
        assert take() is None
        assert (task.case.id, boot(run_dir, "run"), keep) == ("shape/2-hosts-int32-1", (2, True), False)
        assert run_dir.is_dir()
        if isinstance(served, Exception):
            raise served
        detail = "" if served is Verdict.PASS else "liveness: 2 of 2 workers did not finish"
        tell(task, CaseOutcome(task.case.id, served, detail, (), 0, None, 0.1))

    monkeypatch.setattr(platforms, "serve_guest", serve_guest)
    monkeypatch.setattr(platforms, "boot_native", lambda devices, run_dir, run, initial: (devices, initial))
    assert self_check("initial", tmp_path / "check") == problem


def test_a_boot_knows_its_namespace(monkeypatch, tmp_path):
    monkeypatch.setattr(
        platforms,
        "boot_native",
        lambda devices, run_dir, run, initial: contextlib.nullcontext(SimpleNamespace(made=(devices, initial))),
    )
    with native_boot(6, "host")(tmp_path, "run") as guest:
        assert guest.made == (6, False)
