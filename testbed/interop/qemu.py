"""QEMU's command line. TCG only: it needs no device node, and a nested KVM can be slower than it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["QEMU", "FolderShare", "QemuWire", "qemu_command"]

QEMU = "qemu-system-x86_64"
_NIC = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,host_mtu=4200,rx_queue_size=1024"
"""Whole frames with checksums, and RDMA MTU 4096."""
_KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check random.trust_cpu=on"
)


@dataclass(frozen=True, slots=True)
class FolderShare:
    """A host folder that the guest sees by 9p."""

    tag: str
    path: Path
    writable: bool = False


@dataclass(frozen=True, slots=True)
class QemuWire:
    """One interface: a frame is a datagram between two unix sockets."""

    mac: str
    guest_end: Path
    """QEMU binds it"""
    switch_end: Path
    """we bind it, before QEMU starts"""


def qemu_command(
    *,
    vmlinux: Path,
    initrd: Path,
    console: Path,
    shares: Sequence[FolderShare],
    wires: Sequence[QemuWire],
    script: str,
    memory_mb: int = 768,
    cpus: int = 1,
) -> list[str]:
    """`script`: what the guest runs, a path inside the share `code`. One emulated processor does as much as two (the
    worker is one process); more guests do more. Raises ValueError for a path with a comma, which QEMU's options cannot
    hold."""
    for path in (
        *(share.path for share in shares),
        *(wire.guest_end for wire in wires),
        *(w.switch_end for w in wires),
    ):
        if "," in str(path):
            raise ValueError(f"QEMU cannot use a path with a comma: {path}")
    command = [
        QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "q35", "-m", str(memory_mb), "-smp", str(cpus),
        "-nodefaults", "-no-user-config", "-display", "none", "-serial", f"file:{console}", "-no-reboot",
        "-kernel", str(vmlinux), "-initrd", str(initrd),
        "-append", f"{_KERNEL_ARGUMENTS} interop.script={script} interop.devices={len(wires)}",
        "-device", "virtio-rng-pci",
    ]  # fmt: skip
    for share in shares:
        access = "" if share.writable else ",readonly=on"
        command += [
            "-fsdev", f"local,id={share.tag},path={share.path},security_model=none,multidevs=remap{access}",
            "-device", f"virtio-9p-pci,fsdev={share.tag},mount_tag={share.tag}",
        ]  # fmt: skip
    for number, wire in enumerate(wires):
        name = f"wire{number}"
        ends = f"local.type=unix,local.path={wire.guest_end},remote.type=unix,remote.path={wire.switch_end}"
        command += [
            "-netdev", f"dgram,id={name},{ends}",
            "-device", f"virtio-net-pci,netdev={name},mac={wire.mac},{_NIC}",
        ]  # fmt: skip
    return command
