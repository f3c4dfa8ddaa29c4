"""The configuration of a switch as the file that `--config` reads."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from switch_nodes.config import RingConfig, SwitchConfig

__all__ = ["config_text"]


def config_text(config: SwitchConfig) -> str | None:
    """JSON; None for leaves and spines, which such a file cannot say."""
    if any(ring.links is not None for ring in config.rings):
        return None
    document: dict[str, Any] = {
        "name": config.name,
        "macs": [[mac.hex(":"), port] for mac, port in config.macs],
        "rings": [_ring(ring) for ring in config.rings],
        "release": config.release,
        "gate": config.gate,
        "hairpin": config.hairpin,
    }
    if config.flood_ports is not None:
        document["flood_ports"] = list(config.flood_ports)
    return json.dumps(document, indent=2) + "\n"


def _ring(ring: RingConfig) -> dict[str, Any]:
    return {
        "ring_id": ring.ring_id,
        "members": [
            {"rank": member.rank, "ip": str(ipaddress.ip_address(member.ip)), "port": member.port}
            for member in ring.members
        ],
        "arithmetic": {"op": ring.arithmetic.op, "dtype": ring.arithmetic.dtype},
        "message_packets": ring.message_packets,
        "window_messages": ring.window_messages,
        "path_mtu": ring.path_mtu,
        "generation": ring.generation,
    }
