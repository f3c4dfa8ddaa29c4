"""Checks of what the kernel can do, each by doing it. They run in a throw-away network namespace (see isolation)."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from testbed.doctor.model import ProbeFailed
from testbed.kernel.offloads import read_offloads, turn_offloads_off
from testbed.kernel.receive_queues import may_receive_on, processor_for, receive_all_on
from testbed.kernel.shaping import read_qdisc, shape

__all__ = [
    "check_af_packet",
    "check_bridge",
    "check_clsact_bpf",
    "check_htb",
    "check_namespaces",
    "check_netem",
    "check_offloads",
    "check_order",
    "check_priority",
    "check_veth",
]

_JUMBO = 9000
_BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
_BPF_PROG_LOAD = 5
_SCHED_CLS = 3
_ETH_P_TEST = 0x88B5
"""IEEE 802 local experimental EtherType 1"""
_TRIES = 100
"""tries at 20 ms; the kernel drops what is sent before it has handled the carrier of a fresh interface"""


@contextmanager
def _pair(mtu: int = _JUMBO) -> Iterator[tuple[Any, int]]:
    """A veth pair probe0-probe1, both up: (netlink, index of probe0)."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        netlink.link("add", ifname="probe0", kind="veth", mtu=mtu, peer={"ifname": "probe1", "mtu": mtu})
        indices = [netlink.link_lookup(ifname=name)[0] for name in ("probe0", "probe1")]
        for index in indices:
            netlink.link("set", index=index, state="up")
        yield netlink, indices[0]


@contextmanager
def _known(qdisc: str) -> Iterator[None]:
    """The kernel's "No such file or directory" in our words."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        yield
    except NetlinkError as error:
        if error.code == errno.ENOENT:
            raise ProbeFailed(f"this kernel does not know the qdisc {qdisc}") from error
        raise


def check_namespaces() -> str:
    return f"uid {os.geteuid()}"


def check_veth() -> str:
    with _pair() as (netlink, index):
        mtu = netlink.get_links(index)[0].get_attr("IFLA_MTU")
    if mtu != _JUMBO:
        raise ProbeFailed(f"asked for an MTU of {_JUMBO}, the kernel shows {mtu}")
    return f"pair with MTU {mtu}"


def check_bridge() -> str:
    with _pair() as (netlink, index):
        netlink.link("add", ifname="probebr", kind="bridge")
        bridge = netlink.link_lookup(ifname="probebr")[0]
        netlink.link("set", index=index, master=bridge)
    return "a port joined a bridge"


def check_htb() -> str:
    with _pair() as (netlink, index), _known("htb or pfifo"):
        shape(netlink, index, rate_bps=100_000_000, queue_packets=77, mtu=_JUMBO)
        reading = read_qdisc(netlink, index)
    if reading is None or (reading.rate_bps, reading.queue_packets) != (100_000_000, 77):
        raise ProbeFailed(f"asked for 100 Mb/s and 77 packets, the kernel shows {reading}")
    return "class with rate and queue limit, read back"


def check_priority() -> str:
    with _pair() as (netlink, index), _known("htb or pfifo, or the classifier u32"):
        shape(netlink, index, rate_bps=100_000_000, queue_packets=77, mtu=_JUMBO, serves_classes=True)
        reading = read_qdisc(netlink, index)
        filters = {message.get_attr("TCA_KIND") for message in netlink.get_filters(index=index)}
    if reading is None or not reading.serves_classes or filters != {"u32"}:
        raise ProbeFailed(f"asked for layer classes chosen by u32, the kernel shows {reading} and filters {filters}")
    return "one HTB class with a queue for each layer class, chosen by DSCP"


def check_netem() -> str:
    with _pair() as (netlink, index), _known("netem"):
        netlink.tc("add", "netem", index, 0x1_0000, delay=1_000)
    return "delay of 1 ms"


def check_clsact_bpf() -> str:
    handle = _load_program()
    try:
        with _pair() as (netlink, index):
            netlink.tc("add", "clsact", index)
            netlink.tc(
                "add-filter",
                "bpf",
                index,
                fd=handle,
                name="probe",
                parent=0xFFFF_FFF2,
                direct_action=True,
            )
    finally:
        os.close(handle)
    return "a program of two instructions on an ingress"


def _load_program() -> int:
    """bpf(2): r0 = 0; exit. Returns the program's handle."""
    number = _BPF_SYSCALL.get(os.uname().machine)
    if number is None:
        raise ProbeFailed(f"number of bpf(2) unknown on {os.uname().machine}")
    code = ctypes.create_string_buffer(struct.pack("=BBhi", 0xB7, 0, 0, 0) + struct.pack("=BBhi", 0x95, 0, 0, 0))
    licence = ctypes.create_string_buffer(b"GPL")
    request = struct.pack("=IIQQIIQI", _SCHED_CLS, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0)
    attributes = ctypes.create_string_buffer(request, 128)
    libc = ctypes.CDLL(None, use_errno=True)
    handle = int(libc.syscall(number, _BPF_PROG_LOAD, attributes, 128))
    if handle < 0:
        raise ProbeFailed(f"BPF_PROG_LOAD: {os.strerror(ctypes.get_errno())}")
    return handle


def _crosses(sender: socket.socket, receiver: socket.socket, frame: bytes) -> bool:
    sender.send(frame)
    try:
        return receiver.recv(2048) == frame
    except TimeoutError:
        return False


def check_af_packet() -> str:
    # Protocol 0: nothing arrives before they are bound, and then only what is ours.
    with (
        _pair(),
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as receiver,
    ):
        sender.bind(("probe0", _ETH_P_TEST))
        receiver.bind(("probe1", _ETH_P_TEST))
        receiver.settimeout(0.02)
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack("!H", _ETH_P_TEST) + b"probe" * 10
        if not any(_crosses(sender, receiver, frame) for _ in range(_TRIES)):
            raise ProbeFailed(f"none of {_TRIES} frames crossed a veth pair")
    libc = ctypes.CDLL(None)
    missing = [name for name in ("recvmmsg", "sendmmsg") if not hasattr(libc, name)]
    if missing:
        raise ProbeFailed(f"the C library lacks {', '.join(missing)}")
    return "a frame crossed a veth pair; recvmmsg, sendmmsg"


def check_order() -> str:
    """Nothing is written to links that are not ours: `lo` has the same setting as they will have."""
    if not may_receive_on("lo"):
        raise ProbeFailed("sysfs has no rps_cpus that may be written")
    joints = "" if receive_all_on(processor_for(0)) else "; not at joints of links, because rps_default_mask is missing"
    return f"one processor can receive what comes by an interface{joints}"


def check_offloads() -> str:
    with _pair(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        turn_offloads_off(sock, "probe0")
        still_on = [name for name, on in read_offloads(sock, "probe0").items() if on]
    if still_on:
        raise ProbeFailed(f"cannot turn off {', '.join(still_on)}")
    return "tx rx gso gro tso go off"
