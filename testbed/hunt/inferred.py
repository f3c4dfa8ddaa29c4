"""Which protocol is hunted in where only `switch.program` says it: the one whose program the class builds on."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.kinds import program_kinds
from switch_nodes.own_program import ended_process
from switch_nodes.registry import built_on
from testbed.hunt.protocols import PROTOCOLS
from testbed.kernel.apart import Ended, run_apart
from testbed.scenario.own_program import PROGRAM_KEY, is_own_program
from testbed.scenario.protocols.known import protocol_of
from testbed.scenario.protocols.names import DEFAULT_PROTOCOL
from workloads.errors import ScenarioError

__all__ = ["IN_RINGS", "inferred_protocol", "is_card"]

IN_RINGS = DEFAULT_PROTOCOL
"""what drawn rings run: their scenarios name no protocol"""


def inferred_protocol(overrides: Sequence[str]) -> str:
    """For a hunt without SCENARIO and `--protocol`; NetReduce where no program is set either. Raises ScenarioError for
    a program that could serve several protocols, or none."""
    changes = {key.strip(): value.strip() for key, _, value in (text.partition("=") for text in overrides)}
    if PROGRAM_KEY not in changes:
        return IN_RINGS
    program = changes[PROGRAM_KEY]
    names = _built_on(program) if is_own_program(program) else (program,)
    if is_card(program):
        return IN_RINGS
    known = (IN_RINGS, *PROTOCOLS)
    found = [name for name in known if protocol_of(name).programs[0] in names]
    if len(found) == 1:
        return found[0]
    raise ScenarioError(
        "cannot infer the protocol that this switch program serves", file="tb hunt", key=PROGRAM_KEY, found=program,
        allowed=f"--protocol NAME, one of {', '.join(found or known)}; or a class derived from our program that sums",
    )  # fmt: skip


def is_card(program: str) -> bool:
    """Whether it is NetReduce on an aggregation card."""
    kind = program_kinds().get(program)
    return kind is not None and kind.is_card


def _built_on(program: str) -> tuple[str, ...]:
    """The file is loaded in a process of its own."""
    try:
        return run_apart(lambda tell: built_on(program))
    except Ended as end:
        raise ended_process(program, end.status) from end
