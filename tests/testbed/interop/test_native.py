from __future__ import annotations

import pytest

from testbed.interop.native import describe_host_rxe


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        (
            "sys/module/rdma_rxe/version",
            "",
            "has rdma_rxe loaded; the cases run on a stock kernel under QEMU all the same",
        ),
        (
            "lib/modules/6.9/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.xz",
            "",
            "has rdma_rxe; the cases run on a stock kernel under QEMU all the same",
        ),
        (
            "lib/modules/6.9/modules.builtin",
            "kernel/a.ko\nkernel/drivers/infiniband/sw/rxe/rdma_rxe.ko\n",
            "has rdma_rxe; the cases run on a stock kernel under QEMU all the same",
        ),
        (
            "lib/modules/6.9/modules.builtin",
            "kernel/a.ko\n",
            "has no rdma_rxe: the cases run on a stock kernel under QEMU",
        ),
        ("elsewhere", "", "has no rdma_rxe: the cases run on a stock kernel under QEMU"),
    ],
)
def test_what_is_said_of_the_hosts_kernel(path, text, said, tmp_path):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    assert describe_host_rxe("6.9", tmp_path) == f"this host's kernel 6.9 {said}"
