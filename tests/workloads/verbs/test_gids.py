"""GIDs as the kernel shows them in sysfs, and the words when there is none."""

from __future__ import annotations

import pytest

from workloads.errors import HostCapabilityError
from workloads.verbs.gids import choose_gid, device_names, read_gids

LINK_LOCAL = "fe80:0000:0000:0000:0000:00ff:fe00:0101"
MAPPED = "0000:0000:0000:0000:0000:ffff:0a4d:0001"
NONE = "0000:0000:0000:0000:0000:0000:0000:0000"


@pytest.fixture
def sysfs(tmp_path):
    """rxe0 with the entries of a card that speaks both versions."""
    port = tmp_path / "rxe0" / "ports" / "1"
    for folder in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        (port / folder).mkdir(parents=True)
    entries = [(LINK_LOCAL, "RoCE v2"), (MAPPED, "IB/RoCE v1"), (MAPPED, "RoCE v2"), (NONE, None)]
    entries += [(NONE, None)] * 8 + [("fe80:0000:0000:0000:0000:00ff:fe00:0102", "RoCE v2")]
    for index, (gid, kind) in enumerate(entries):
        (port / "gids" / str(index)).write_text(gid + "\n")
        if kind is not None:
            (port / "gid_attrs" / "types" / str(index)).write_text(kind + "\n")
            (port / "gid_attrs" / "ndevs" / str(index)).write_text("eth7\n")
    return tmp_path


def test_the_ipv4_entry_of_version_2_is_chosen(sysfs):
    gids = list(read_gids("rxe0", sysfs=sysfs))
    assert [gid.index for gid in gids] == [0, 1, 2, 12]
    assert choose_gid(gids, bytes((10, 77, 0, 1)), "rxe0").index == 2


def test_the_table_is_read_no_further_than_needed(sysfs):
    (sysfs / "rxe0/ports/1/gids/3").write_text("what nobody reads")
    assert choose_gid(read_gids("rxe0", sysfs=sysfs), bytes((10, 77, 0, 1)), "rxe0").index == 2


def test_an_ipv6_address_is_its_own_gid(sysfs):
    address = bytes.fromhex(LINK_LOCAL.replace(":", ""))
    assert choose_gid(read_gids("rxe0", sysfs=sysfs), address, "rxe0").index == 0


def test_another_address_is_refused_with_what_is_there(sysfs):
    gids = tuple(gid for gid in read_gids("rxe0", sysfs=sysfs) if gid.index < 2)
    with pytest.raises(HostCapabilityError) as caught:
        choose_gid(gids, bytes((10, 77, 0, 1)), "rxe0")
    assert str(caught.value) == (
        "this machine lacks a RoCE v2 GID for 10.77.0.1 on rxe0 (its table: 0: fe80::ff:fe00:101 (RoCE v2), "
        "1: 10.77.0.1 (IB/RoCE v1)); `ip address add 10.77.0.1/24 dev eth7` makes one"
    )


@pytest.mark.parametrize(("device", "port"), [("rxe9", 1), ("rxe0", 2)])
def test_no_such_device_or_port_is_refused_with_those_that_are(sysfs, device, port):
    with pytest.raises(HostCapabilityError) as caught:
        next(read_gids(device, port, sysfs))
    assert str(caught.value) == (
        f"this machine lacks port {port} of an RDMA device {device}; devices here: rxe0; a software one: `modprobe "
        "rdma_rxe; "
        f"rdma link add {device} type rxe netdev INTERFACE`"
    )


def test_a_kernel_without_rdma_has_no_devices(tmp_path):
    assert device_names(tmp_path / "infiniband") == ()
    with pytest.raises(HostCapabilityError, match="devices here: none"):
        next(read_gids("rxe0", sysfs=tmp_path / "infiniband"))
