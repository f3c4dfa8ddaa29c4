"""`nics`: which NIC a host uses. `soft`, our own endpoint, or `verbs:NAME`, an RDMA device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.faults.model import Fault, Kill
from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import Problems, closest, show
from topologies import Topology

__all__ = ["SOFT", "NicsType", "check_nics", "on_hosts"]

SOFT = "soft"
_VERBS = re.compile(r"verbs:([A-Za-z][A-Za-z0-9_.-]{0,62})\Z")
"""a name that the kernel takes for a device (IB_DEVICE_NAME_MAX)"""
_ALLOWED = "soft (our own endpoint), or verbs:NAME, an RDMA device, as verbs:rxe0"


@dataclass(frozen=True, slots=True)
class NicsType(KeyType):
    """Hosts by name: `soft` or a device, no device twice. Read as (host, device) of every host that is on a device."""

    def read(self, value: Any, at: At) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict):
            at.add("not a mapping", found=show(value), allowed=f"host: NIC; a NIC is {_ALLOWED}")
            raise Told
        taken: dict[str, str] = {}
        for host, nic in value.items():
            if nic == SOFT:
                continue
            match = _VERBS.match(nic) if isinstance(nic, str) else None
            if match is None:
                (at / host).add("not a NIC", found=show(nic), allowed=_ALLOWED)
            elif match[1] in taken.values():
                owner = next(other for other, device in taken.items() if device == match[1])
                (at / host).add(f"{owner} uses this device", found=show(nic), allowed="a device per host")
            else:
                taken[host] = match[1]
        return tuple(taken.items())

    def write(self, value: Sequence[tuple[str, str]]) -> dict[str, str]:
        return {host: f"verbs:{device}" for host, device in value}

    def schema(self, refer: Refer) -> dict[str, Any]:
        nic = {"anyOf": [{"const": SOFT}, {"type": "string", "pattern": "^verbs:"}]}
        return {"type": "object", "additionalProperties": nic}


def on_hosts(
    at: At, given: Iterable[str], nics: Sequence[tuple[str, str]], topology: Topology | None
) -> tuple[tuple[str, str], ...]:
    """`nics` in the order of the hosts. Adds a problem for each host that does not exist. `given`: hosts that the file
    names."""
    if topology is None:
        return tuple(nics)
    hosts = [host.name for host in topology.hosts]
    for host in given:
        if host not in hosts:
            (at / host).add("there is no such host", allowed="a host of the topology", hint=closest(host, hosts))
    devices = dict(nics)
    return tuple((host, devices[host]) for host in hosts if host in devices)


def check_nics(problems: Problems, world: str, nics: Sequence[tuple[str, str]], faults: Sequence[Fault]) -> None:
    """Check that devices run in real time only, and that no fault restarts their host.

    A device chooses other queue pairs when its worker starts again, and the peers would not know them.
    """
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
                "a worker on a device cannot restart: its peers know its old queue pairs",
                found=f"verbs:{device}, and a kill of {host} with an end",
                allowed=f"soft for {host}, or a kill without an end",
            )
