"""What is known of program `netreduce` before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from switch_nodes.kinds import ProgramFactory, ProgramKind

if TYPE_CHECKING:
    from switch_nodes.netreduce.fast import FastNetReduceProgram

__all__ = ["KINDS"]


def _netreduce() -> ProgramFactory:
    from switch_nodes.netreduce import create_netreduce

    return create_netreduce


def _compiled() -> type[FastNetReduceProgram]:
    from switch_nodes.netreduce.fast import FastNetReduceProgram

    return FastNetReduceProgram


KINDS = (
    ProgramKind(
        "netreduce",
        "sums the packets of a ring in the switch, under the hosts' RoCE v2 transport",
        _netreduce,
        uses=("rings", "release", "gate"),
        reports_slots=True,
        compiled=_compiled,
    ),
)
