"""Scenario -> YAML that loads back to the equal value, with every default of its protocol written out."""

from __future__ import annotations

import re
from typing import Any

import yaml

from testbed.reading.sections import changed, write_section
from testbed.scenario.keys.fault_loader import as_written
from testbed.scenario.keys.job import Job, JobEntry
from testbed.scenario.keys.topology_kinds import topology_section
from testbed.scenario.keys.transport import Transport
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.owned_keys import foreign_keys

__all__ = ["dump_scenario"]


def dump_scenario(scenario: Scenario) -> str:
    """The resolved scenario as text of a file."""
    topology: Any = topology_section(scenario.topology, scenario.link)
    written = changed(scenario, topology=topology, faults=as_written(scenario.faults, scenario.topology))
    data = write_section(written)
    _leave_out_foreign(data, scenario.job.protocol)
    for party, entry in zip(scenario.beside, data.get("beside", ()), strict=True):
        _leave_out_foreign(entry, party.job.protocol)
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _leave_out_foreign(data: dict[str, Any], protocol: str) -> None:
    """From `job`, `transport` and `jobs`."""
    _leave_out(data, "job", Job, protocol)
    _leave_out(data, "transport", Transport, protocol)
    for entry in data.get("jobs", ()):
        _leave_out({"entry": entry}, "entry", JobEntry, protocol)


def _leave_out(data: dict[str, Any], name: str, section: type, protocol: str) -> None:
    """Keys of other protocols; and the section, if it held no others."""
    for key in foreign_keys(section, protocol):
        data.get(name, {}).pop(key.name, None)
    if not data.get(name, True):
        del data[name]


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
