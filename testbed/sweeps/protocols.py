"""The same scenario under another protocol: network, faults, seed and gradients stay; the keys that only the old
protocol knows go away."""

from __future__ import annotations

from typing import Any

from switch_nodes.kinds import sums
from testbed.reading.problems import closest, show
from testbed.scenario.known import names_where, protocol_of, traits_of
from testbed.scenario.model import Job
from testbed.scenario.protocol import Traits, protocol_names
from workloads.errors import ScenarioError

__all__ = ["require_protocol", "under_protocol"]


_OWN_KEYS: dict[str, dict[str, set[str]]] = {
    "roce": {
        "job": {"message_packets", "window_messages", "credit", "hello", "fallback", "pipelined"},
        "switch": {"release", "gate"},
        "transport": {
            "verb", "timeout", "retry_count", "rnr_retry", "rnr_timer", "ack_every", "start_psn", "receive_late",
            "congestion_control", "dcqcn", "recovery",
        },
    },
    "datagrams": {
        "job": {"window_packets", "quantisation", "server", "copies", "priority", "priority_x0"},
        "switch": {"memory", "knobs"},
        "transport": {"rto", "framing", "uc_packets", "aimd"},
    },
}  # fmt: skip
"""section -> keys that nobody but these protocols knows"""


def _known() -> tuple[str, ...]:
    """Those that sum, and can run the scenario files of any other one of them."""
    return names_where(lambda traits: traits.sums and not traits.needs)


def _lacking(traits: Traits) -> set[str]:
    """Keys of `job` that a protocol of datagrams does not know though others of them do."""
    server = set() if traits.has_server else {"server"}
    return server if traits.has_priorities else server | {"priority", "priority_x0"}


def require_protocol(name: Any, *, file: str, key: str | None = None) -> str:
    """Raises ScenarioError when a sweep knows no such protocol."""
    if not isinstance(name, str) or name not in _known():
        raise ScenarioError(
            "no such protocol of sweeps", file=file, key=key, found=show(name), allowed=", ".join(_known()),
            hint=closest(name, _known()),
        )  # fmt: skip
    return name


def under_protocol(data: dict[str, Any], name: str) -> dict[str, Any]:
    """`data`: a scenario file as data; a changed copy comes back. The number of workers stays on a rack: a parameter
    server gets a host of its own there. On other topologies the last host becomes the server. Raises ScenarioError for
    a file with several jobs."""
    if data.get("jobs"):
        raise ScenarioError(
            "has several jobs, whose collectives a sweep does not change", key="jobs", allowed="a scenario with one job"
        )
    job = dict(data.get("job") or {})
    before = str(job.get("collective", Job().collective))
    if before == name:
        return data
    new, old = protocol_of(name), traits_of(before) if before in protocol_names() else Traits()
    foreign = _OWN_KEYS["datagrams" if new.traits.reliable else "roce"]
    changed = dict(data)
    for section in ("job", "switch", "transport"):
        kept = {key: value for key, value in (data.get(section) or {}).items() if key not in foreign[section]}
        changed[section] = kept
    for key in set() if new.traits.reliable else _lacking(new.traits):
        changed["job"].pop(key, None)
    changed["job"]["collective"] = name
    changed["switch"]["program"] = new.programs[0]
    if not sums(new.programs[0]):
        for key in _OWN_KEYS["roce"]["switch"]:
            changed["switch"].pop(key, None)
    topology = data.get("topology")
    if isinstance(topology, dict) and isinstance(topology.get("hosts"), int) and not job.get("hosts"):
        more = new.traits.has_server - old.has_server
        changed["topology"] = {**topology, "hosts": topology["hosts"] + more}
    if not changed["transport"]:
        del changed["transport"]
    return changed
