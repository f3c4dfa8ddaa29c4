"""The same scenario under another protocol: network, faults, seed and gradients stay; the keys that only the old
protocol knows go away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from switch_nodes.kinds import program_kinds, uses
from testbed.reading.problems import closest, show
from testbed.reading.sections import names_of
from testbed.scenario.checks.contract import scenario_protocol
from testbed.scenario.keys.transport import Transport
from testbed.scenario.model import Job
from testbed.scenario.protocols.known import names_where, protocol_of
from testbed.scenario.protocols.named import protocol_names
from testbed.scenario.protocols.owned_keys import foreign_keys
from testbed.scenario.protocols.protocol import KnownProtocol
from workloads.errors import ScenarioError

__all__ = ["require_protocol", "under_protocol"]


def _known() -> tuple[str, ...]:
    """Those that sum, and can run the scenario files of any other one of them."""
    return tuple(name for name in names_where(lambda each: each.result().is_sum) if not scenario_protocol(name).needs())


def _foreign(new: KnownProtocol) -> Mapping[str, Collection[str]]:
    """Section -> keys that the protocol, or the switch program that serves it, does not know."""
    of_programs = {name for kind in program_kinds().values() for name in kind.uses}
    return {
        "job": {key.name for key in foreign_keys(Job, new.name)},
        "transport": {key.name for key in foreign_keys(Transport, new.name)},
        "switch": {name for name in of_programs if not uses(new.programs[0], name)},
    }


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
            "has several jobs, whose protocols a sweep does not change", key="jobs", allowed="a scenario with one job"
        )
    job = dict(data.get("job") or {})
    before = str(job.get("protocol", Job().protocol))
    if before == name:
        return data
    new, old = protocol_of(name), protocol_of(before) if before in protocol_names() else None
    changed = dict(data)
    for section, foreign in _foreign(new).items():
        changed[section] = {key: value for key, value in (data.get(section) or {}).items() if key not in foreign}
    if old is not None and old.job_keys is not None and old.job_keys is not new.job_keys:
        for key in names_of(old.job_keys):
            changed["job"].pop(key, None)
    if isinstance(knobs := changed["switch"].get("knobs"), dict):
        known = program_kinds()[new.programs[0]].knobs
        changed["switch"]["knobs"] = {key: value for key, value in knobs.items() if key in known}
    changed["job"]["protocol"] = name
    changed["switch"].pop("program", None)
    topology = data.get("topology")
    if isinstance(topology, dict) and isinstance(topology.get("hosts"), int) and not job.get("hosts"):
        more = new.servers() - (0 if old is None else old.servers())
        changed["topology"] = {**topology, "hosts": topology["hosts"] + more}
    if not changed["transport"]:
        del changed["transport"]
    return changed
