"""`recoveries`: the loss recovery of single hosts, where it is another than `transport.recovery`.

A connection needs the same recovery at both ends, and a ring is made of connections from each host to the next. The
switch of NetReduce places all packets of a ring by one rule. So the hosts of a job agree, or the scenario is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.reading.keytypes import At, KeyType, Refer, Told
from testbed.reading.problems import closest, show
from testbed.scenario.keys.job import Job
from testbed.scenario.keys.transport import Transport
from testbed.scenario.protocols import names
from testbed.scenario.protocols.known import protocol_of
from topologies import Topology

__all__ = ["RecoveriesType", "with_recoveries"]

_ALLOWED = ", ".join(names.RECOVERIES)


@dataclass(frozen=True, slots=True)
class RecoveriesType(KeyType):
    """Hosts by name. Read as (host, recovery)."""

    def read(self, value: Any, at: At) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict):
            at.add("not a mapping", found=show(value), allowed=f"host: recovery; a recovery is one of {_ALLOWED}")
            raise Told
        for host, recovery in value.items():
            if recovery not in names.RECOVERIES:
                (at / host).add(
                    "not a recovery",
                    found=show(recovery),
                    allowed=_ALLOWED,
                    hint=closest(str(recovery), names.RECOVERIES),
                )
                raise Told
        return tuple(value.items())

    def write(self, value: Sequence[tuple[str, str]]) -> dict[str, str]:
        return dict(value)

    def schema(self, refer: Refer) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"enum": list(names.RECOVERIES)}}


def with_recoveries(
    at: At, named: Mapping[str, str], transport: Transport, job: Job, topology: Topology | None
) -> Transport:
    """The recovery that the hosts of the job agree on. Adds a problem for hosts that do not exist or do not agree."""
    if topology is None or not named:
        return transport
    hosts = [host.name for host in topology.hosts]
    for host in named:
        if host not in hosts:
            (at / host).add("there is no such host", allowed="a host of the topology", hint=closest(host, hosts))
    if not protocol_of(job.protocol).repairs_losses():
        host, recovery = next(iter(named.items()))
        why = f"protocol {job.protocol} has no RC connections, whose losses a recovery repairs"
        (at / host).add(why, found=f"'{recovery}'", allowed="no such key")
        return transport
    ring = job.hosts or tuple(hosts)
    spoken = {host: named.get(host, transport.recovery) for host in ring}
    first = spoken[ring[0]]
    other = next((host for host in ring if spoken[host] != first), None)
    if other is None:
        return replace(transport, recovery=first)
    odd = other if other in named else ring[0]
    rest = spoken[ring[0] if odd == other else other]
    (at / odd).add(
        "both ends of a connection need one loss recovery, and a ring connects all hosts of the job",
        found=f"'{spoken[odd]}', and '{rest}' at {ring[0] if odd == other else other}",
        allowed=f"{rest} for {odd}; or the same for all hosts of the job: transport.recovery",
    )
    return transport
