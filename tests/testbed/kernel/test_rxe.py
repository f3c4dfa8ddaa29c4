"""Soft RoCE devices, with a kernel that only notes; what a real one makes of it is the business of `tb interop`."""

from __future__ import annotations

import pytest

from testbed.kernel.rxe import add_rxe, has_rxe, load_rxe, run_command
from workloads.errors import HostCapabilityError


@pytest.mark.parametrize(
    ("path", "text", "there"),
    [
        ("sys/module/rdma_rxe/version", "", True),
        ("lib/modules/6.9/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.xz", "", True),
        ("lib/modules/6.9/modules.builtin", "kernel/a.ko\nkernel/drivers/infiniband/sw/rxe/rdma_rxe.ko\n", True),
        ("lib/modules/6.9/modules.builtin", "kernel/a.ko\n", False),
        ("lib/modules/6.8/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko", "", False),
    ],
)
def test_whether_a_kernel_has_it(path, text, there, tmp_path):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    assert has_rxe("6.9", tmp_path) is there


def test_a_device_is_made_on_its_interface():
    ran = []
    add_rxe("rxe0", "h1-0.abcde", lambda command: ran.append(command) or "", lambda: ("rxe0",))
    assert ran == [["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "h1-0.abcde"]]


def test_a_kernel_that_refuses_is_told():
    with pytest.raises(HostCapabilityError) as caught:
        add_rxe("rxe0", "eth9", lambda command: "error: Invalid argument", lambda: ())
    assert str(caught.value) == (
        "this machine lacks what it takes to make the RDMA device rxe0 on eth9 (rdma: error: Invalid argument); root, "
        "the "
        "Debian package iproute2, and a kernel whose rdma_rxe works in this network namespace"
    )


def test_a_device_that_appears_elsewhere_is_none_for_us():
    """As in Linux 6.1 with `rdma system set netns exclusive`."""
    with pytest.raises(HostCapabilityError, match="rxe0 in this network namespace: the kernel made it elsewhere"):
        add_rxe("rxe0", "eth9", lambda command: "", lambda: ("rxe1",))


def test_modules_are_loaded_unless_they_are_there():
    ran = []
    load_rxe(lambda command: ran.append(command) or "", lambda: True)
    assert ran == []
    load_rxe(lambda command: ran.append(command) or "", lambda: False)
    assert ran == [["modprobe", "-a", "rdma_rxe", "ib_uverbs", "rdma_ucm"]]
    with pytest.raises(HostCapabilityError, match=r"rdma_ucm \(modprobe: not found\); boot a kernel that has them"):
        load_rxe(lambda command: "not found", lambda: False)


def test_what_a_command_said():
    assert run_command(["true"]) == ""
    assert run_command(["sh", "-c", "echo one; echo two >&2; echo three >&2; exit 3"]) == "two / three"
    assert run_command(["false"]) == "exit 1"
    assert run_command(["/nowhere/rdma"]) == "there is no program /nowhere/rdma"
