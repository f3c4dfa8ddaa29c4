"""Which modules, in which order."""

from __future__ import annotations

import pytest

from testbed.interop.image.modules import insertion_order, parse_dependencies
from workloads.errors import HostCapabilityError

DEP = """\
kernel/net/9p/9pnet.ko:
kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/drivers/virtio/virtio.ko:
kernel/drivers/virtio/virtio_ring.ko: kernel/drivers/virtio/virtio.ko
kernel/drivers/net/virtio-net.ko.xz: kernel/drivers/virtio/virtio_ring.ko kernel/drivers/virtio/virtio.ko
kernel/lib/unused.ko:
"""


def test_each_module_is_behind_what_it_needs_and_there_once():
    dependencies = parse_dependencies(DEP)
    order = insertion_order(dependencies, ["9pnet_virtio", "virtio_net"])
    for path in order:
        assert set(dependencies[path]) <= set(order[: order.index(path)])
    assert sorted(order) == sorted(set(dependencies) - {"kernel/lib/unused.ko"})


def test_built_in_modules_need_no_loading():
    assert insertion_order(parse_dependencies(DEP), ["overlay"], ["kernel/fs/overlayfs/overlay.ko"]) == ()


def test_a_module_that_the_kernel_lacks_is_named():
    with pytest.raises(HostCapabilityError) as caught:
        insertion_order(parse_dependencies(DEP), ["rdma_rxe"])
    assert "the kernel module rdma_rxe in the guest's kernel" in str(caught.value)
    assert "linux-image-amd64" in str(caught.value)


def test_a_circle_ends():
    order = insertion_order({"a.ko": ("b.ko",), "b.ko": ("a.ko",)}, ["a"])
    assert sorted(order) == ["a.ko", "b.ko"]
