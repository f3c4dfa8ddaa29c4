"""What a host must be, and whether it is: facts that it reported -> what is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from testbed.lab.agent.facts import HostFacts
from testbed.lab.model import Host

__all__ = ["CLOCK_TOLERANCE_S", "NEEDED_BYTES", "host_problems"]

CLOCK_TOLERANCE_S = 1.0
NEEDED_BYTES = 64 << 20
_OLDEST_PYTHON = (3, 11)


def host_problems(host: Host, facts: HostFacts, *, offset_s: float, version: str | None) -> list[str]:
    """`offset_s`: what its clock is at least ahead of ours. `version`: of the package here; a host that has none yet is
    in order, with None any is."""
    return list(_problems(host, facts, offset_s, version))


def _problems(host: Host, facts: HostFacts, offset_s: float, version: str | None) -> Iterator[str]:
    if tuple(int(part) for part in facts.python.split(".")[:2]) < _OLDEST_PYTHON:
        yield f"Python {facts.python}; needed: {'.'.join(map(str, _OLDEST_PYTHON))} or later"
    if facts.user == 0:
        yield "we are root there; agents run as an ordinary user (hosts.NAME.user)"
    if abs(offset_s) > CLOCK_TOLERANCE_S:
        ahead = "ahead of" if offset_s > 0 else "behind"
        yield f"its clock is {abs(offset_s):.1f} s {ahead} ours; allowed: {CLOCK_TOLERANCE_S:g} s"
    if not facts.writable:
        yield f"{host.base} cannot be written by user {facts.user}"
    if facts.disk_free < NEEDED_BYTES:
        yield f"its disk is full: {facts.disk_free >> 20} MiB free at {host.base}, needed: {NEEDED_BYTES >> 20} MiB"
    for interface in host.interfaces:
        found = facts.interfaces.get(interface.device)
        if found is None:
            yield f"interface {interface.label}: there is no {interface.device}"
        elif not found.up or not found.carrier:
            yield f"interface {interface.label}: {interface.device} is {'without carrier' if found.up else 'down'}"
        elif found.mtu < interface.mtu:
            yield f"interface {interface.label}: {interface.device} has MTU {found.mtu}, needed: {interface.mtu}"
        if interface.rdma is not None and interface.rdma not in facts.rdma:
            known = ", ".join(facts.rdma) or "none"
            yield f"interface {interface.label}: there is no RDMA device {interface.rdma}; there are: {known}"
    if version is not None and facts.deployed not in (None, version):
        yield f"it has version {facts.deployed} of this package, here is {version}; first: tb lab deploy"
