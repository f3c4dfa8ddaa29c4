"""Scenario -> YAML that loads back to the equal value, with every default written out."""

from __future__ import annotations

import re
from typing import Any

import yaml

from testbed.reading.sections import write_section
from testbed.reading.units import format_duration
from testbed.scenario.fault_loader import written_faults
from testbed.scenario.job_dump import dump_entry, dump_job
from testbed.scenario.model import Scenario
from testbed.scenario.nics import dump_nics
from testbed.scenario.topology_kinds import TOPOLOGY, topology_section

__all__ = ["dump_scenario"]


def dump_scenario(scenario: Scenario) -> str:
    """The resolved scenario as text of a file."""
    data: dict[str, Any] = {
        "name": scenario.name,
        "description": scenario.description,
        "seed": scenario.seed,
        "world": scenario.world,
        "topology": TOPOLOGY.write(topology_section(scenario.topology, scenario.link)),
        "switch": write_section(scenario.switch),
        "transport": write_section(scenario.transport),
        "job": dump_job(scenario.job),
        **({"jobs": [dump_entry(job) for job in scenario.jobs]} if scenario.jobs else {}),
        **({} if scenario.routing is None else {"routing": write_section(scenario.routing)}),
        "clocks": write_section(scenario.clocks),
        "nics": dump_nics(scenario.nics),
        "faults": written_faults(scenario.faults, scenario.topology),
        **({"background": [write_section(flow) for flow in scenario.background]} if scenario.background else {}),
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
