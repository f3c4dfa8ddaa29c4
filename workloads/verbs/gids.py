"""Which entry of a port's GID table stands for an IPv4 address (RoCE v2: `::ffff:a.b.c.d`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from workloads.errors import HostCapabilityError

__all__ = ["SYSFS", "Gid", "choose_gid", "device_names", "gid_of", "read_gids"]

SYSFS = Path("/sys/class/infiniband")


@dataclass(frozen=True, slots=True)
class Gid:
    index: int
    address: IPv6Address
    kind: str
    """type in the kernel's words: `RoCE v2`, `IB/RoCE v1`"""
    interface: str
    """network device; empty when the kernel does not report one"""


def device_names(sysfs: Path = SYSFS) -> tuple[str, ...]:
    """RDMA devices of this kernel."""
    return tuple(sorted(entry.name for entry in sysfs.iterdir())) if sysfs.is_dir() else ()


def read_gids(device: str, port: int = 1, sysfs: Path = SYSFS) -> Iterator[Gid]:
    """The filled entries, by index, read as they are asked for: a table may have 1024 places. Raises
    HostCapabilityError when there is no such device or port."""
    folder = sysfs / device / "ports" / str(port)
    if not folder.is_dir():
        here = ", ".join(device_names(sysfs)) or "none"
        raise HostCapabilityError(
            f"port {port} of an RDMA device {device}",
            f"devices here: {here}; a software one: `modprobe rdma_rxe; rdma link add {device} type rxe netdev "
            "INTERFACE`",
        )
    for index in itertools.count():
        text = _read(folder / "gids" / str(index))
        if text is None:
            return
        address = IPv6Address(text or "::")
        # Places that are not in use read as zero, and their type cannot be read at all.
        kind = _read(folder / "gid_attrs" / "types" / str(index)) if int(address) else ""
        if kind:
            yield Gid(index, address, kind, _read(folder / "gid_attrs" / "ndevs" / str(index)) or "")


def gid_of(ip: bytes) -> IPv6Address:
    """The GID that stands for an address of 4 or 16 bytes."""
    return IPv6Address(b"\0" * 10 + b"\xff\xff" + ip if len(ip) == 4 else ip)


def choose_gid(gids: Iterable[Gid], ip: bytes, device: str) -> Gid:
    """The RoCE v2 entry of an address (4 or 16 bytes). Raises HostCapabilityError when there is none."""
    wanted, mapped = ip_address(ip), gid_of(ip)
    seen = []
    for gid in gids:
        if gid.address == mapped and gid.kind == "RoCE v2":
            return gid
        seen.append(gid)
    interface = next((gid.interface for gid in seen if gid.interface), "INTERFACE")
    here = ", ".join(f"{gid.index}: {gid.address.ipv4_mapped or gid.address} ({gid.kind})" for gid in seen) or "none"
    raise HostCapabilityError(
        f"a RoCE v2 GID for {wanted} on {device} (its table: {here})",
        f"`ip address add {wanted}/24 dev {interface}` makes one",
    )


def _read(path: Path) -> str | None:
    """None: there is no such entry; empty: it cannot be read."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return None
    except OSError:
        return ""
