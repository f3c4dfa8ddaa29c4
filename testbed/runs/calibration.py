"""What a packet costs this machine: measured with short emulated runs, kept in the state folder until the machine
changes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from switch_nodes.events import PlaneStatistics
from testbed.estimate.dilation import CpuCalibration
from testbed.history import Record, of_kind
from testbed.kernel.ledger import require_trusted_state, state_dir
from testbed.kernel.load import processors
from testbed.kernel.scratch import scratch
from testbed.plan import make_plan
from testbed.scenario.model import Job, Scenario, Transport
from testbed.worlds.emulated import EmulatedWorld
from topologies import LinkShape, rack
from workloads.trusted import write_file

__all__ = ["CALIBRATION_NAME", "KeptCalibration", "calibrate", "keep_calibration", "kept_calibration", "machine_name"]

CALIBRATION_NAME = "calibration.json"
_SCHEMA = 1
_HOSTS = 2
_ROLES = ("host", "switch")
_DENSE = {256: 40_000_000, 1024: 120_000_000, 4096: 400_000_000}
"""rate of the links by payload bytes: about 15,000 packets a second, two thirds of what a node takes"""
_ALONE = (1024, 8_000_000)
_SECONDS = 0.6
"""of traffic, of each run"""


@dataclass(frozen=True, slots=True)
class KeptCalibration:
    """A calibration, with the machine that it is valid for."""

    machine: str
    measured: str
    """when, UTC"""
    dense_ns: dict[str, dict[str, float]]
    alone_ns: dict[str, float]

    @property
    def calibration(self) -> CpuCalibration:
        dense = {role: {int(size): cost for size, cost in costs.items()} for role, costs in self.dense_ns.items()}
        return CpuCalibration(dense, self.alone_ns)


def machine_name() -> str:
    """What a calibration depends on: the processors and the kernel."""
    model = "unknown processor"
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        model = next(line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{processors()} x {model}, Linux {os.uname().release}"


def kept_calibration(folder: Path | None = None) -> KeptCalibration | None:
    """None: there is none for this machine. `folder`: where it is kept (default: the state folder)."""
    path = (folder or state_dir()) / CALIBRATION_NAME
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("schema") != _SCHEMA:
            return None
        kept = KeptCalibration(**document)
        sizes = [int(size) for role in _ROLES for size in kept.dense_ns[role]]
        costs = [float(cost) for role in _ROLES for cost in (*kept.dense_ns[role].values(), kept.alone_ns[role])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    good = kept.machine == machine_name() and sizes and all(cost > 0 for cost in costs)
    return kept if good else None


def keep_calibration(kept: KeptCalibration, folder: Path | None = None) -> Path:
    """Where it is kept. Raises HostCapabilityError for a state folder that others can change, OSError."""
    folder = folder or state_dir()
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    require_trusted_state(folder)
    path = folder / CALIBRATION_NAME
    write_file(path, json.dumps({"schema": _SCHEMA, **asdict(kept)}, indent=1) + "\n")
    return path


def calibrate(tell: Callable[[str], None] = lambda text: None) -> KeptCalibration:
    """Takes about ten seconds, as root. Raises as `EmulatedWorld.run`."""
    dense: dict[str, dict[str, float]] = {role: {} for role in _ROLES}
    for size, rate_bps in _DENSE.items():
        tell(f"{size}-byte payloads")
        for role, cost in _costs(_scenario(size, rate_bps)).items():
            dense[role][str(size)] = round(cost, 1)
    tell("packets that come alone")
    alone = {role: round(cost, 1) for role, cost in _costs(_scenario(*_ALONE)).items()}
    return KeptCalibration(machine_name(), time.strftime("%Y-%m-%d %H:%M", time.gmtime()), dense, alone)


def _scenario(payload_bytes: int, rate_bps: int) -> Scenario:
    shape = LinkShape(rate_bps=rate_bps, mtu=1500 if payload_bytes <= 1024 else 9000, queue_packets=1000)
    return Scenario(
        name=f"calibration-{payload_bytes}",
        topology=rack(_HOSTS, shape),
        link=shape,
        transport=Transport(path_mtu=payload_bytes, timeout_code=18, ack_every=64),
        job=Job(
            size_bytes=int(rate_bps / 8 * _SECONDS) // payload_bytes * payload_bytes,
            window_messages=6,
        ),
        capture=False,
        dilation=1,
        time_limit_ns=20_000_000_000,
    )


def _costs(scenario: Scenario) -> dict[str, float]:
    """CPU time per packet, by role."""
    records: list[Record] = []
    with scratch() as folder:
        EmulatedWorld().run(make_plan(scenario), folder / "run", records.append)
    switches = {switch.name for switch in scenario.topology.switches}
    spent, handled = dict.fromkeys(_ROLES, 0), dict.fromkeys(_ROLES, 0)
    for record in of_kind(records, PlaneStatistics):
        role = "switch" if record.node in switches else "host"
        spent[role] += record.event.cpu_ns
        handled[role] += record.event.frames_in + record.event.frames_out
    return {role: spent[role] / max(1, handled[role]) for role in _ROLES}
