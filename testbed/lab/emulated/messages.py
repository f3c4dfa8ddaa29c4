"""Requests to the keeper of an emulated lab on its socket, and its messages to the process that started it. Requests
and answers are written as those of agents are; `power.py`, which has the standard library alone, writes its own by
hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.lab.agent.requests import Request
from workloads.codec import unless_default

__all__ = ["KINDS", "CycleHost", "Keeping", "ShowPids", "TakeDown"]


@dataclass(frozen=True, slots=True)
class TakeDown(Request[None]):
    """The whole lab."""

    op = "down"


@dataclass(frozen=True, slots=True)
class CycleHost(Request[None]):
    """Power off, and on again; answered when everything on it is up."""

    op = "cycle"
    host: str
    card_faults: str | None = None
    """faults of its card from then on, as `switch_nodes.fpga.faults` reads them; None: as before, empty: none"""


@dataclass(frozen=True, slots=True)
class ShowPids(Request[dict[str, int]]):
    """Of the process that holds each host's namespaces, by host."""

    op = "status"


KINDS = {kind.op: kind for kind in (TakeDown, CycleHost, ShowPids)}


@dataclass(frozen=True, slots=True)
class Keeping:
    """One line of a keeper to the process that started it: its lab is up, or why not."""

    folder: str = unless_default("")
    error: dict[str, Any] | None = unless_default(None)
    """error as `history.codec` writes it"""
