"""Interfaces, addresses and neighbours in a namespace of their own, and the kernel's refusals."""

import os
import shutil
import subprocess
from collections.abc import Callable

import pytest
from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from testbed.doctor.isolation import run_isolated
from testbed.kernel.links import (
    PROMISCUOUS,
    UP,
    add_address,
    add_neighbours,
    add_veth_pair,
    clear_flags,
    read_addresses,
    read_links,
    set_flags,
)
from tests.support.emulated import needs_root

pytestmark = [*needs_root, pytest.mark.programs]


def with_pair(check: Callable[[IPRoute, int], str]) -> str:
    """What `check` answers in a namespace with a pair va-vb; it gets the index of va."""

    def isolated() -> str:
        with IPRoute(ext_ack=True) as netlink:
            add_veth_pair(netlink, "va", b"\2\0\0\0\0\1", "vb", b"\2\0\0\0\0\2", os.getpid(), 1400)
            return check(netlink, netlink.link_lookup(ifname="va")[0])

    done, told = run_isolated(isolated)
    assert done, told
    return told


def both_ends(netlink: IPRoute, index: int) -> str:
    links = sorted(read_links(netlink).values(), key=lambda link: link.name)
    return "; ".join(f"{link.name} {link.mac} {link.mtu} {link.flags & UP}" for link in links if link.name != "lo")


def flags_in_turn(netlink: IPRoute, index: int) -> str:
    seen = []
    for change, flags in (
        (set_flags, UP),
        (set_flags, PROMISCUOUS),
        (clear_flags, UP),
        (set_flags, UP),
        (clear_flags, PROMISCUOUS),
    ):
        change(netlink, index, flags)
        seen.append(f"{read_links(netlink)[index].flags & (UP | PROMISCUOUS):x}")
    return " ".join(seen)


def carrier_of_the_peer(netlink: IPRoute, index: int) -> str:
    peer = netlink.link_lookup(ifname="vb")[0]
    seen = []
    for change in (set_flags, clear_flags, set_flags):
        set_flags(netlink, peer, UP)
        change(netlink, index, UP)
        seen.append(read_links(netlink)[peer].carrier)
    return str(seen)


def many_neighbours(netlink: IPRoute, index: int) -> str:
    set_flags(netlink, index, UP)
    add_address(netlink, index, bytes((10, 77, 0, 200)), 16)
    add_neighbours(netlink, index, ((bytes((10, 77, 1, n)), bytes((2, 0, 0, 0, 1, n))) for n in range(1, 151)))
    shown = subprocess.run(["ip", "neigh", "show", "dev", "va"], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in shown.splitlines()]
    expected = {(f"10.77.1.{n}", f"02:00:00:00:01:{n:02x}", "PERMANENT") for n in range(1, 151)}
    return f"{read_addresses(netlink)} {len(lines)} {({(line[0], line[2], line[-1]) for line in lines}) == expected}"


def refusals(netlink: IPRoute, index: int) -> str:
    set_flags(netlink, index, UP)
    one = bytes((10, 77, 0, 1)), bytes((2, 0, 0, 0, 0, 9))
    found = []
    for ask in (
        lambda: add_neighbours(netlink, index, [one, one]),
        lambda: set_flags(netlink, 999_999, UP),
        lambda: add_address(netlink, index, bytes((10, 77, 0, 1)), 77),
    ):
        try:
            ask()
        except NetlinkError as error:
            found.append(f"{error.code} {error.args[-1]}")
    # The socket is in step again.
    return "; ".join([*found, str(len(read_links(netlink)))])


def test_both_ends_of_a_pair_are_as_asked_and_down() -> None:
    assert with_pair(both_ends) == "va 02:00:00:00:00:01 1400 0; vb 02:00:00:00:00:02 1400 0"


def test_flags_change_and_leave_each_other_alone() -> None:
    assert with_pair(flags_in_turn) == "1 101 100 101 1"


def test_the_far_end_has_a_carrier_while_the_near_one_is_up() -> None:
    assert with_pair(carrier_of_the_peer) == "[True, False, True]"


@pytest.mark.skipif(shutil.which("ip") is None, reason="needs iproute2")
def test_more_neighbours_than_one_batch_last_for_ever() -> None:
    assert with_pair(many_neighbours) == "['10.77.0.200'] 150 True"


def test_refusals_are_raised_with_the_kernels_words_and_leave_the_socket_in_step() -> None:
    twice, nowhere, prefix, links = with_pair(refusals).split("; ")
    assert (twice, nowhere, links) == ("17 File exists", "19 No such device", "3")
    assert prefix.startswith("22 ")
