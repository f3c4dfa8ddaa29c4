"""Commands of the controller as OpenFlow 1.5 messages, and what switches say as plain values. `parts` is the
library."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from testbed.steering.controller import AddFlow, AddGroup, Barrier, Command, RemoveFlows, RemoveGroup
from testbed.steering.entries import FlowEntry, GroupEntry

if TYPE_CHECKING:
    from testbed.steering.compat import OpenFlowParts

__all__ = ["make_message", "read_counters", "read_port"]

_NTR_VENDOR, _NTR_SELECTION_METHOD = 0x0000154D, 1
"""Open vSwitch's group property "selection method" (include/openflow/netronome-ext.h). Its default lets its user-space
datapath send every flow to one bucket."""
_METHOD = b"hash"
_OXM_BASIC = 0x8000
_HASHED = ((11, 4), (12, 4), (13, 2), (14, 2), (15, 2), (16, 2))
"""(OXM field, bytes) of IPv4 source and destination, ports of TCP and UDP (OpenFlow 1.5, 7.2.3.7)"""
_NOTHING_KNOWN = 0
_ALL = (1 << 64) - 1


def make_message(parts: OpenFlowParts, datapath: Any, command: Command) -> Any:
    ofproto, parser = parts.ofproto, parts.parser
    match command:
        case AddGroup(group):
            return parser.OFPGroupMod(
                datapath,
                ofproto.OFPGC_ADD,
                ofproto.OFPGT_SELECT,
                group.number,
                ofproto.OFPG_BUCKET_ALL,
                [parser.OFPBucket(port, [parser.OFPActionOutput(port)]) for port in group.ports],
                [_selection_method(parts, group)],
            )
        case RemoveGroup(number):
            return parser.OFPGroupMod(
                datapath, ofproto.OFPGC_DELETE, ofproto.OFPGT_SELECT, number, ofproto.OFPG_BUCKET_ALL
            )
        case AddFlow(flow):
            actions = _actions(parts, flow)
            apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)
            return parser.OFPFlowMod(
                datapath,
                cookie=flow.cookie,
                command=ofproto.OFPFC_ADD,
                priority=flow.priority,
                match=parser.OFPMatch(**dict(flow.match)),
                instructions=[apply] if actions else [],
            )
        case RemoveFlows(cookie):
            return parser.OFPFlowMod(
                datapath,
                cookie=cookie,
                cookie_mask=_ALL,
                table_id=ofproto.OFPTT_ALL,
                command=ofproto.OFPFC_DELETE,
                out_port=ofproto.OFPP_ANY,
                out_group=ofproto.OFPG_ANY,
            )
        case Barrier():
            return parser.OFPBarrierRequest(datapath)


def _actions(parts: OpenFlowParts, flow: FlowEntry) -> list[Any]:
    if flow.group:
        return [parts.parser.OFPActionGroup(flow.group)]
    return [parts.parser.OFPActionOutput(port) for port in flow.ports]


def _selection_method(parts: OpenFlowParts, group: GroupEntry) -> Any:
    fields = b"".join(struct.pack("!HBB", _OXM_BASIC, field << 1, size) + b"\xff" * size for field, size in _HASHED)
    body = struct.pack("!I16sQ", 0, _METHOD, group.salt) + fields
    if len(body) % 4:
        raise AssertionError("the library packs properties in words of four bytes")
    return parts.parser.OFPGroupPropExperimenter(
        type_=parts.ofproto.OFPGPT_EXPERIMENTER,
        experimenter=_NTR_VENDOR,
        exp_type=_NTR_SELECTION_METHOD,
        data=list(struct.unpack(f"!{len(body) // 4}I", body)),
    )


def read_port(parts: OpenFlowParts, description: Any) -> tuple[int, bool] | None:
    """(port from 0, whether it has a carrier) of an OFPPort; None for a reserved one, such as the switch's own."""
    ofproto = parts.ofproto
    if not 1 <= description.port_no <= ofproto.OFPP_MAX:
        return None
    down = description.config & ofproto.OFPPC_PORT_DOWN or description.state & ofproto.OFPPS_LINK_DOWN
    return description.port_no - 1, not down


def read_counters(flows: Iterable[Any]) -> dict[int, tuple[int, int]]:
    """By cookie: (packets, bytes) of OFPFlowDesc."""
    return {flow.cookie: (_counter(flow.stats, "packet_count"), _counter(flow.stats, "byte_count")) for flow in flows}


def _counter(stats: Any, name: str) -> int:
    return int(stats[name]) if name in stats else _NOTHING_KNOWN
