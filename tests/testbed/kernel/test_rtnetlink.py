"""Requests to the kernel, their answers, and its refusals."""

import errno
import struct

import pytest

from testbed.doctor.isolation import run_isolated
from testbed.kernel.links import UP, add_address, read_addresses, read_links, set_flags
from testbed.kernel.rtnetlink import Request, Rtnetlink, attribute, read_attributes, text
from testbed.kernel.shaping import change_rate
from tests.support.emulated import needs_root


def test_attributes_are_padded_and_found_again() -> None:
    data = attribute(1, b"abcde") + attribute(2, b"") + attribute(3 | 0x8000, b"xy")
    assert data.hex() == (struct.pack("=HH", 9, 1) + b"abcde\0\0\0" + struct.pack("=HH", 4, 2) + struct.pack("=HH", 6, 0x8003)
                          + b"xy\0\0").hex()  # fmt: skip
    assert read_attributes(data) == {1: b"abcde", 2: b"", 3: b"xy"}


@pytest.mark.parametrize("data", [b"", b"\1", struct.pack("=HH", 3, 1), struct.pack("=HH", 0, 0) * 2])
def test_what_holds_no_attribute(data: bytes) -> None:
    assert read_attributes(data) == {}


def test_text_ends_at_its_zero() -> None:
    assert (text(b"htb\0"), text(b"htb"), text(b"a\0b\0")) == ("htb", "htb", "a")


def _many() -> str:
    with Rtnetlink() as netlink:
        loopback = next(iter(read_links(netlink).values()))
        ips = [bytes((10, 77, 0, number)) for number in range(1, 201)]
        netlink.change([set_flags(loopback.index, UP), *(add_address(loopback.index, ip, 32) for ip in ips)])
        up = next(iter(read_links(netlink).values())).flags & UP
        return f"{loopback.name} {loopback.mtu} {loopback.flags & UP} {up} {read_addresses(netlink)[-200:] == ips}"


def _refusals() -> str:
    found = []
    with Rtnetlink() as netlink:
        index = next(iter(read_links(netlink)))
        address = add_address(index, bytes((10, 77, 0, 1)), 32)
        for requests in (change_rate(index, rate_bps=8000, mtu=1500), [address, address, set_flags(index, UP)]):
            try:
                netlink.change(requests)
            except OSError as error:
                found.append(f"{errno.errorcode[error.errno]}: {error.strerror}")
        # The socket is in step again, and what stood behind the refused request was done.
        found.append(f"{next(iter(read_links(netlink).values())).flags & UP} {len(read_addresses(netlink))}")
        try:
            netlink.dump(Request(9999, bytes(16)))
        except OSError as error:
            found.append(str(error.errno == errno.EOPNOTSUPP))
    return "; ".join(found)


class TestKernel:
    pytestmark = needs_root

    def test_more_requests_than_one_batch_in_order(self) -> None:
        assert run_isolated(_many) == (True, "lo 65536 0 1 True")

    def test_a_refusal_has_the_kernels_words_and_leaves_the_socket_in_step(self) -> None:
        done, told = run_isolated(_refusals)
        assert done, told
        rate, address, state, dump = told.split("; ")
        assert rate.split(": ")[0] in ("EINVAL", "ENOENT")
        assert len(rate.split(": ")[1]) > 5
        assert address.startswith("EEXIST: ")
        assert (state, dump) == ("1 2", "True")
