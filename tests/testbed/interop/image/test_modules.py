from __future__ import annotations

import pytest

from testbed.interop.image.modules import insertion_order, parse_dependencies
from workloads.errors import HostCapabilityError

DEP = """\
kernel/net/9p/9pnet.ko:
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/fscache.ko kernel/fs/netfs.ko
kernel/fs/fscache.ko: kernel/fs/netfs.ko
kernel/fs/netfs.ko:
kernel/drivers/virtio-blk.ko.xz:
"""


def test_what_a_module_needs_comes_before_it():
    order = insertion_order(parse_dependencies(DEP), ["9p"])
    assert sorted(order) == sorted(path for path in parse_dependencies(DEP) if "virtio" not in path)
    for path in order:
        needed = parse_dependencies(DEP)[path]
        assert all(order.index(other) < order.index(path) for other in needed), path


def test_a_module_stands_once_though_two_need_it():
    order = insertion_order(parse_dependencies(DEP), ["fscache", "9p", "netfs"])
    assert len(order) == len(set(order)) == 4


def test_names_are_those_that_modprobe_knows():
    assert insertion_order(parse_dependencies(DEP), ["virtio_blk"]) == ("kernel/drivers/virtio-blk.ko.xz",)


def test_a_built_in_module_needs_no_loading():
    assert insertion_order(parse_dependencies(DEP), ["crc32-pclmul"], ["kernel/crc32_pclmul.ko"]) == ()


def test_a_kernel_without_the_module_is_refused():
    with pytest.raises(HostCapabilityError) as caught:
        insertion_order(parse_dependencies(DEP), ["rdma_rxe"])
    assert str(caught.value) == (
        "this machine lacks the kernel module rdma_rxe in the guest's kernel; use the generic kernel package "
        "(linux-image-amd64; the cloud variant has no rdma_rxe and no 9p)"
    )
