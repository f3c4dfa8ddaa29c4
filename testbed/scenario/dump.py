"""Scenario -> YAML that loads back to the equal value, with every default written out."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import yaml

from testbed.faults.healing import kind_of
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Forge,
    LinkDown,
    Match,
    NodeFault,
    PacketFault,
    RateChange,
    Reorder,
    Window,
)
from testbed.reading.units import format_drift, format_duration, format_probability, format_rate
from testbed.scenario.background import dump_background
from testbed.scenario.congestion import dump_dcqcn
from testbed.scenario.fault_schema import OPCODE_GROUPS
from testbed.scenario.job_dump import dump_entry, dump_job
from testbed.scenario.model import DcqcnOptions, Scenario, Transport
from testbed.scenario.nics import dump_nics
from testbed.scenario.routing import dump_routing
from testbed.scenario.topology_kinds import dump_topology
from topologies import DIRECTIONS, Direction, Topology
from workloads.wire import opcode_name

__all__ = ["dump_scenario"]


def dump_scenario(scenario: Scenario) -> str:
    """The resolved scenario as text of a file."""
    data: dict[str, Any] = {
        "name": scenario.name,
        "description": scenario.description,
        "seed": scenario.seed,
        "world": scenario.world,
        "topology": dump_topology(scenario.topology, scenario.link),
        "switch": {
            "program": scenario.switch.program,
            "release": scenario.switch.release,
            "gate": scenario.switch.gate,
            "commodity": scenario.switch.commodity,
            "memory": scenario.switch.memory,
            "knobs": asdict(scenario.switch.knobs),
        },
        "transport": _dump_transport(scenario.transport),
        "job": dump_job(scenario.job),
        **({"jobs": [dump_entry(job) for job in scenario.jobs]} if scenario.jobs else {}),
        **({} if scenario.routing is None else {"routing": dump_routing(scenario.routing)}),
        "clocks": {
            "offset": format_duration(scenario.clocks.offset_ns),
            "drift": format_drift(scenario.clocks.drift_ppb),
        },
        "nics": dump_nics(scenario.nics),
        "faults": [_dump_fault(fault, scenario.topology) for fault in scenario.faults],
        **({"background": [dump_background(flow) for flow in scenario.background]} if scenario.background else {}),
        "time_limit": format_duration(scenario.time_limit_ns),
        "capture": scenario.capture,
        "trace": scenario.trace,
        "dilation": "auto" if scenario.dilation is None else scenario.dilation,
        "expect": scenario.expect,
    }
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that our reader, or another YAML reader, might take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]+\Z|[0-9]+(\.[0-9]+)?(?:%|[kMG]?bps|[num]?s|[kMG]?B|[KMG]iB)\Z", re.ASCII)
_WORDS = ("yes", "no", "on", "off", "true", "false", "null")


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    style: str | None = '"'
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        style = None
    elif len(lines) > 1 and all(line.isprintable() for line in lines):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _dump_transport(transport: Transport) -> dict[str, Any]:
    return {
        "path_mtu": transport.path_mtu,
        "verb": transport.verb,
        "timeout": transport.timeout_code,
        "retry_count": transport.retry_count,
        "rnr_retry": transport.rnr_retry,
        "rnr_timer": transport.rnr_timer_code,
        "ack_every": transport.ack_every,
        "start_psn": "random" if transport.start_psn is None else transport.start_psn,
        "receive_late": format_duration(transport.receive_late_ns),
        "rto": format_duration(transport.rto_ns),
        "framing": transport.framing,
        "uc_packets": transport.uc_packets,
        "aimd": transport.aimd,
        "congestion_control": transport.congestion_control,
        **(
            {"dcqcn": dump_dcqcn(transport.dcqcn)}
            if transport.congestion_control == "dcqcn" or transport.dcqcn != DcqcnOptions()
            else {}
        ),
    }


def _dump_fault(fault: Fault, topology: Topology) -> dict[str, Any]:
    result: dict[str, Any] = {"kind": kind_of(fault), "name": fault.name}
    if isinstance(fault, NodeFault):
        return result | {"node": fault.node} | _dump_window(fault.window)
    assert isinstance(fault, (PacketFault, RateChange))
    every = fault.links == tuple(link.name for link in topology.links)
    result["links"] = "all" if every else list(fault.links)
    result["direction"] = _dump_directions(fault.directions)
    result |= _dump_window(fault.window)
    if isinstance(fault, RateChange):
        return result | {"rate": format_rate(fault.rate_bps)}
    if isinstance(fault, LinkDown):
        return result | {"count": fault.count, "period": format_duration(fault.period_ns)}
    result["rate"] = format_probability(fault.rate)
    result |= _dump_special(fault)
    if isinstance(fault, Drop) or fault.match != Match():
        result["match"] = _dump_match(fault.match)
    return result


def _dump_special(fault: PacketFault) -> dict[str, Any]:
    if isinstance(fault, Burst):
        shares = {"recover": fault.recover, "loss_bad": fault.loss_bad, "loss_good": fault.loss_good}
        return {key: format_probability(share) for key, share in shares.items()}
    if isinstance(fault, Corrupt):
        return {"repair_icrc": fault.repair_icrc} | ({} if fault.bit is None else {"bit": fault.bit})
    if isinstance(fault, Forge):
        return {"what": fault.what, "before": fault.before, "delay": format_duration(fault.delay_ns)}
    if isinstance(fault, (Duplicate, Reorder)):
        return {"delay": format_duration(fault.delay_ns)}
    if isinstance(fault, Delay):
        return {"delay": format_duration(fault.delay_ns), "jitter": format_duration(fault.jitter_ns)}
    return {}


def _dump_directions(directions: tuple[Direction, ...]) -> str:
    return "both" if directions == DIRECTIONS else str(directions[0])


def _dump_window(window: Window) -> dict[str, Any]:
    result = {"from": format_duration(window.start_ns)}
    return result if window.stop_ns is None else result | {"until": format_duration(window.stop_ns)}


def _dump_match(match: Match) -> dict[str, Any]:
    result: dict[str, Any] = {}
    words = [word for word, group in OPCODE_GROUPS.items() if group == (match.opcodes, match.syndrome)]
    if words:
        result["opcode"] = words[0]
    elif match.opcodes is not None:
        result["opcode"] = [opcode_name(code) for code in sorted(match.opcodes)]
    if match.syndrome is not None and not words:
        result["syndrome"] = match.syndrome
    result["psn_offset"], result["message"] = match.psn_offset, match.message
    result["packet"] = "last" if match.packet == -1 else match.packet
    result["attempt"], result["rank"] = match.attempt, match.source_rank
    return {key: value for key, value in result.items() if value is not None}
