"""Configurations of nodes as JSON, as `tb worker --config` and `tb switch --config` read them."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
from typing import Any

from topologies import format_mac

__all__ = ["dump_node_config"]


def dump_node_config(config: Any, leave_out: tuple[str, ...] = ()) -> str:
    """`config`: a WorkerConfig or SwitchConfig. `testbed.plan.nodeconfig` makes the same value of it."""
    fields = _plain(config)
    for name in leave_out:
        fields.pop(name)
    return json.dumps(fields)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return format_mac(value) if len(value) == 6 else str(ipaddress.ip_address(value))
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
