"""What a host is: standard library only and no import of ours, since `check` sends this file to hosts that have nothing
yet.

python3 - BASE DEVICE... < facts.py        prints one JSON object
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

__all__ = ["HostFacts", "InterfaceFacts", "host_facts", "interface_facts"]


@dataclass(frozen=True)
class InterfaceFacts:
    mtu: int
    mac: str
    """02:00:..."""
    address: str | None
    """IPv4"""
    up: bool
    carrier: bool


@dataclass(frozen=True)
class HostFacts:
    host: str
    user: int
    os: str
    kernel: str
    python: str
    cpus: int
    disk_free: int
    """bytes, where our folder is or will be"""
    writable: bool
    deployed: str | None
    """version of our package"""
    interfaces: dict[str, InterfaceFacts | None]
    """None: there is no such interface"""
    rdma: dict[str, str]
    """state of port 1, by device"""
    clock: float
    """seconds since the epoch"""


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return None


def interface_facts(device: str) -> InterfaceFacts | None:
    """None when there is no such interface in this network namespace."""
    if device not in {name for _, name in socket.if_nameindex()}:
        return None
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:

        def ask(number: int) -> bytes:
            return fcntl.ioctl(probe, number, struct.pack("16s24x", device.encode()))[16:]

        # include/uapi/linux/sockios.h: SIOCGIFFLAGS, SIOCGIFMTU, SIOCGIFHWADDR, SIOCGIFADDR
        flags = struct.unpack_from("H", ask(0x8913))[0]
        mtu = struct.unpack_from("i", ask(0x8921))[0]
        mac = ask(0x8927)[2:8].hex(":")
        try:
            address = socket.inet_ntoa(ask(0x8915)[4:8])
        except OSError:
            address = None
    return InterfaceFacts(mtu, mac, address, up=bool(flags & 1), carrier=bool(flags & 0x40))


def _rdma_devices() -> dict[str, str]:
    found = {}
    try:
        for device in sorted(os.listdir("/sys/class/infiniband")):
            found[device] = _read(f"/sys/class/infiniband/{device}/ports/1/state") or "unknown"
    except OSError:
        pass
    return found


def _distribution() -> str:
    for line in (_read("/etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    return platform.system()


def host_facts(base: str, devices: Iterable[str]) -> HostFacts:
    """Of this host; `base`: our folder, which need not be there yet."""
    folder = base
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    disk = os.statvfs(folder)
    try:
        deployed = os.path.basename(os.readlink(os.path.join(base, "current")))
    except OSError:
        deployed = None
    return HostFacts(
        host=socket.gethostname(),
        user=os.getuid(),
        os=_distribution(),
        kernel=platform.release(),
        python=platform.python_version(),
        cpus=len(os.sched_getaffinity(0)),
        disk_free=disk.f_bavail * disk.f_frsize,
        writable=os.access(folder, os.W_OK | os.X_OK),
        deployed=deployed,
        interfaces={device: interface_facts(device) for device in devices},
        rdma=_rdma_devices(),
        clock=time.time() + float(os.environ.get("INA_CLOCK_OFFSET", "0")),
    )


if __name__ == "__main__":
    print(json.dumps(asdict(host_facts(sys.argv[1], sys.argv[2:]))))
