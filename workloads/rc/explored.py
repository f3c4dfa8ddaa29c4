"""What a visit of all states of an endpoint leaves out of a state: fields that count and decide nothing, and budgets
that are taken as never spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from workloads.rc.attention import Attention
from workloads.rc.endpoint import RcEndpoint
from workloads.rc.go_back_n import GoBackN
from workloads.rc.irn_sender import IrnSender
from workloads.rc.outbound import FrameWriter
from workloads.rc.tally import Counters

__all__ = ["PINNED", "STATISTICS"]

STATISTICS: Mapping[type, tuple[str, ...]] = {
    Counters: tuple(field.name for field in fields(Counters)),
    GoBackN: ("_tries",),
    IrnSender: ("_progress_at", "_waited_ns"),
    RcEndpoint: ("_turn_packets",),
    FrameWriter: ("_heads",),
    Attention: ("_heap", "_listed"),
}
PINNED: Mapping[tuple[type, str], int | None] = {
    (GoBackN, "_retry_left"): 7, (GoBackN, "_rnr_left"): 7, (IrnSender, "_give_up_ns"): None,
}  # fmt: skip
"""(class, field) -> value"""
