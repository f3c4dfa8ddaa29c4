"""JSON Schema of scenario files, with the keys that only files of some protocols may hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from testbed.reading.jsonschema import json_schema
from testbed.reading.known import Section
from testbed.reading.sections import keys_of, names_of
from testbed.scenario.keys.job import Job, JobEntry
from testbed.scenario.keys.transport import Transport
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.named import protocol_names

__all__ = ["scenario_schema"]


def scenario_schema() -> dict[str, Any]:
    schema = json_schema(Scenario, "A scenario of ina-testbed")
    for name, keys in _own_keys():
        known = schema["$defs"][Job.__name__]["properties"]
        for key, own in json_schema(keys, name)["properties"].items():
            before = known.get(key, own)
            known[key] = own if before == own else {"anyOf": [before, own], "description": before["description"]}
    several = [{"if": test, "then": {"items": then}} for test, then in _rules(JobEntry)]
    rules = [
        *({"if": test, "then": {"properties": {"job": then}}} for test, then in _rules(Job)),
        *({"if": test, "then": {"properties": {"transport": then}}} for test, then in _rules(Transport)),
        *({"if": rule["if"], "then": {"properties": {"jobs": rule["then"]}}} for rule in several),
    ]
    return schema | {"allOf": rules}


def _rules(section: type) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(which files, what does not stand in the section): one for each set of protocols that lack the same keys."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for key in keys_of(section):
        if key.only is not None:
            has = set(key.only.names())
            lacking.setdefault(tuple(name for name in protocol_names() if name not in has), []).append(key.name)
    if section is Job:
        for named, owners in _owners().items():
            lacking.setdefault(tuple(name for name in protocol_names() if name not in owners), []).append(named)
    for names, keys in lacking.items():
        yield _files_of(names), {"properties": dict.fromkeys(keys, False)}


def _own_keys() -> Iterator[tuple[str, type[Section]]]:
    """(protocol, keys that it alone adds to `job`)."""
    for name in protocol_names():
        own = protocol_of(name).job_keys
        if own is not None:
            yield name, own


def _owners() -> dict[str, list[str]]:
    """Protocols that have a key, by the key, of those that no job of another has."""
    found: dict[str, list[str]] = {}
    for name, own in _own_keys():
        for key in names_of(own):
            found.setdefault(key, []).append(name)
    return {key: has for key, has in found.items() if key not in names_of(Job)}


def _files_of(names: tuple[str, ...]) -> dict[str, Any]:
    """A file that names no protocol has the usual one."""
    usual = Job().protocol in names
    job: dict[str, Any] = {"properties": {"protocol": {"enum": list(names)}}}
    return {
        "properties": {"job": job | ({} if usual else {"required": ["protocol"]})},
        **({} if usual else {"required": ["job"]}),
    }
