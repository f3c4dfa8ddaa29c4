"""The same scenario under another protocol: network, faults, seed and gradients stay; the keys that only the old protocol knows go away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.reading.problems import closest, show
from workloads.errors import ScenarioError

__all__ = ["require_protocol", "under_protocol"]


@dataclass(frozen=True, slots=True)
class _Kind:
    program: str
    """of its switches"""
    over: str
    """roce, or datagrams of its own"""
    has_server: bool = False


_KINDS = {
    "netreduce": _Kind("netreduce", "roce"),
    "ring": _Kind("forward", "roce"),
    "switchml": _Kind("switchml", "datagrams"),
    "atp": _Kind("atp", "datagrams", has_server=True),
    "esa": _Kind("esa", "datagrams", has_server=True),
}
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
_NARROWER = {"atp": {"priority", "priority_x0"}, "switchml": {"server", "priority", "priority_x0"}}
"""keys of `job` that these datagram protocols lack"""


def require_protocol(name: Any, *, file: str, key: str | None = None) -> str:
    """Raises ScenarioError when a sweep knows no such protocol."""
    if not isinstance(name, str) or name not in _KINDS:
        raise ScenarioError(
            "no such protocol of sweeps", file=file, key=key, found=show(name), allowed=", ".join(_KINDS),
            hint=closest(name, _KINDS),
        )  # fmt: skip
    return name


def under_protocol(data: dict[str, Any], name: str) -> dict[str, Any]:
    """`data`: a scenario file as data; a changed copy comes back. The number of workers stays on a rack: a parameter server gets a host of its
    own there. On other topologies the last host becomes the server. Raises ScenarioError for a file with several jobs."""
    if data.get("jobs"):
        raise ScenarioError(
            "has several jobs, whose collectives a sweep does not change", key="jobs", allowed="a scenario with one job"
        )
    new, job = _KINDS[name], dict(data.get("job") or {})
    old = _KINDS.get(str(job.get("collective", "netreduce")))
    if job.get("collective", "netreduce") == name:
        return data
    foreign = _OWN_KEYS["datagrams" if new.over == "roce" else "roce"]
    changed = dict(data)
    for section in ("job", "switch", "transport"):
        kept = {key: value for key, value in (data.get(section) or {}).items() if key not in foreign[section]}
        changed[section] = kept
    for key in _NARROWER.get(name, ()):
        changed["job"].pop(key, None)
    changed["job"]["collective"] = name
    changed["switch"]["program"] = new.program
    if name == "ring":
        for key in _OWN_KEYS["roce"]["switch"]:
            changed["switch"].pop(key, None)
    topology = data.get("topology")
    if isinstance(topology, dict) and isinstance(topology.get("hosts"), int) and not job.get("hosts"):
        more = new.has_server - (old is not None and old.has_server)
        changed["topology"] = {**topology, "hosts": topology["hosts"] + more}
    if not changed["transport"]:
        del changed["transport"]
    return changed
