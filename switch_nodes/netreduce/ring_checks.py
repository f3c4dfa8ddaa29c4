"""What a ring must be like to be installed."""

from __future__ import annotations

from itertools import pairwise

from switch_nodes.config import LeafLinks, RingConfig, SpineLinks, SwitchConfig
from workloads.collectives.ina_header import DTYPE_CODES, MAX_GROUP, MAX_MEMBERS, MIN_GROUP, OP_CODES
from workloads.errors import ScenarioError

__all__ = ["check_ring"]

_PATH_MTUS = (256, 512, 1024, 2048, 4096)


def check_ring(config: RingConfig, switch: SwitchConfig) -> None:
    """Raises ScenarioError for a ring that cannot be installed."""
    members, arithmetic = config.members, config.arithmetic
    where = f"switch {switch.name}: ring {config.ring_id}: "

    def refuse(problem: str, found: object, allowed: str) -> ScenarioError:
        return ScenarioError(where + problem, found=str(found), allowed=allowed)

    links = config.links
    group, least = (
        (len(members), MIN_GROUP) if links is None else (links.group, 2 if isinstance(links, SpineLinks) else 1)
    )
    if not least <= len(members) <= MAX_MEMBERS:
        raise refuse("number of members", len(members), f"{least} .. {MAX_MEMBERS}")
    if not MIN_GROUP <= group <= MAX_GROUP:
        raise refuse("number of hosts", group, f"{MIN_GROUP} .. {MAX_GROUP}")
    ranks = [member.rank for member in members]
    if not _in_order(ranks, links):
        allowed = "0, 1, 2, ..." if links is None else "contiguous" if isinstance(links, LeafLinks) else "ascending"
        raise refuse("members are not in rank order", ranks, allowed)
    if ranks[0] < 0 or ranks[-1] >= group:
        raise refuse("ranks", ranks, f"0 .. {group - 1}")
    if isinstance(links, SpineLinks):
        if len(links.successor_ips) != len(members):
            raise refuse("number of successors", len(links.successor_ips), str(len(members)))
        if not 0 <= links.number < links.spines:
            raise refuse("number of the spine", links.number, f"0 .. {links.spines - 1}")
    if isinstance(links, LeafLinks):
        if not links.uplinks:
            raise refuse("uplinks", "none", "one for each spine")
        for port in links.uplinks:
            if not 0 <= port < switch.ports:
                raise refuse("port of an uplink", port, f"0 .. {switch.ports - 1}")
    if links is not None and arithmetic.dtype == "int32sat":
        # A partial sum that clamps loses what a later one would have taken back.
        raise refuse(
            "arithmetic", f"{arithmetic.op} of int32sat over several switches", "one switch; or int32, float32"
        )
    if len({member.ip for member in members}) != len(members):
        raise refuse("two members have the same address", [member.ip.hex() for member in members], "one each")
    if any(len(a.ip) != len(b.ip) or len(a.ip) not in (4, 16) for a, b in pairwise(members)):
        raise refuse("address lengths", [len(member.ip) for member in members], "all 4 or all 16 bytes")
    for member in members:
        if not 0 <= member.port < switch.ports:
            raise refuse(f"port of rank {member.rank}", member.port, f"0 .. {switch.ports - 1}")
    if not 0 <= config.ring_id < 1 << 16:
        raise refuse("ring id", config.ring_id, "0 .. 65535")
    if arithmetic.op not in OP_CODES or arithmetic.dtype not in DTYPE_CODES:
        allowed = f"{', '.join(OP_CODES)} of {', '.join(DTYPE_CODES)}"
        raise refuse("arithmetic", f"{arithmetic.op} of {arithmetic.dtype}", allowed)
    if config.path_mtu not in _PATH_MTUS:
        raise refuse("path MTU", config.path_mtu, ", ".join(map(str, _PATH_MTUS)))
    if config.window_messages < 1 or not 1 <= config.message_packets < 1 << 16:
        raise refuse("window", f"{config.window_messages} x {config.message_packets}", "1 .. messages of 1 .. 65535")
    if (2 * config.window_messages + 1) * config.message_packets >= 1 << 23:
        raise refuse(
            "the connection table would span half of the PSNs",
            (2 * config.window_messages + 1) * config.message_packets,
            f"(2N+1) L below {1 << 23}",
        )


def _in_order(ranks: list[int], links: LeafLinks | SpineLinks | None) -> bool:
    if isinstance(links, SpineLinks):
        return ranks == sorted(set(ranks))
    return ranks == list(range(0 if links is None else ranks[0], (0 if links is None else ranks[0]) + len(ranks)))
