"""`nics`: which NIC a host uses. `soft`, our own endpoint, or `verbs:NAME`, an RDMA device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from testbed.faults.model import Fault, Kill
from testbed.reading.problems import Problems, closest, show
from topologies import Topology

__all__ = ["SOFT", "check_nics", "dump_nics", "load_nics"]

SOFT = "soft"
_VERBS = re.compile(r"verbs:([A-Za-z][A-Za-z0-9_.-]{0,62})\Z")
"""a name that the kernel takes for a device (IB_DEVICE_NAME_MAX)"""
_ALLOWED = "soft (our own endpoint), or verbs:NAME, an RDMA device, as verbs:rxe0"


def load_nics(problems: Problems, value: Any, topology: Topology | None) -> tuple[tuple[str, str], ...]:
    """(host, device) of every host that is on a device, in the order of the hosts; the others are soft."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        problems.add(("nics",), "not a mapping", found=show(value), allowed=f"host: NIC; a NIC is {_ALLOWED}")
        return ()
    hosts = [host.name for host in topology.hosts] if topology else list(value)
    taken: dict[str, str] = {}
    for host, nic in value.items():
        path = ("nics", str(host))
        if host not in hosts:
            problems.add(path, "there is no such host", allowed="a host of the topology", hint=closest(host, hosts))
            continue
        if nic == SOFT:
            continue
        match = _VERBS.match(nic) if isinstance(nic, str) else None
        if match is None:
            problems.add(path, "not a NIC", found=show(nic), allowed=_ALLOWED)
        elif match[1] in taken.values():
            owner = next(other for other, device in taken.items() if device == match[1])
            problems.add(path, f"{owner} uses this device", found=show(nic), allowed="a device per host")
        else:
            taken[host] = match[1]
    return tuple((host, taken[host]) for host in hosts if host in taken)


def check_nics(problems: Problems, world: str, nics: Sequence[tuple[str, str]], faults: Sequence[Fault]) -> None:
    """A device lives in real time, and chooses other queue pairs when its worker starts anew, of which the peers would not
    know."""
    for host, device in nics:
        if world == "simulated":
            problems.add(
                ("nics", host),
                "a device works in real time only",
                found=f"verbs:{device} in world simulated",
                allowed="soft, or world: emulated (or --world emulated)",
            )
        if any(isinstance(fault, Kill) and fault.node == host and fault.window.stop_ns is not None for fault in faults):
            problems.add(
                ("nics", host),
                "a worker on a device cannot start anew: its peers know its old queue pairs",
                found=f"verbs:{device}, and a kill of {host} with an end",
                allowed=f"soft for {host}, or a kill without an end",
            )


def dump_nics(nics: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What `load_nics` reads."""
    return {host: f"verbs:{device}" for host, device in nics}
