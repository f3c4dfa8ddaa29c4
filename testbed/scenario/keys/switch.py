"""`switch`: what the switches do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from switch_nodes.jobs import AggregatorKnobs
from testbed.reading.fields import BoolKey, choice, whole
from testbed.reading.sections import Key, Section, declare_keys
from testbed.scenario.protocols import names
from testbed.scenario.protocols.own_code import OWN_CODE

__all__ = ["SwitchOptions"]

declare_keys(
    AggregatorKnobs,
    preempt=(
        BoolKey,
        "a packet of strictly higher priority takes the slot, and its occupant leaves for its own server",
    ),
    age=(
        Annotated[str, choice(names.AGES)],
        "what a collision does to the occupant's priority: `none`, `minus1` (one less), `shift1` (half)",
    ),
    free=(
        Annotated[str, choice(names.FREES)],
        (
            "`early`: a complete sum goes to the workers at once, and the slot is free; `ack`: the server's result "
            "frees "
            "it, as in ATP"
        ),
    ),
    ps_copy=(BoolKey, "with `early`: the server gets the result, too, for workers that lose theirs"),
    reminder=(BoolKey, "the server may ask for what is in a slot"),
    reclaim=(BoolKey, "a packet of a job takes a slot that holds an older packet of the same job"),
)


@dataclass(frozen=True, slots=True)
class SwitchOptions(Section):
    """What program the switches run, and with what options."""

    program: Annotated[
        str, choice(names.PROGRAMS, or_form=OWN_CODE), Key(filled=True, shown="that of `job.protocol`")
    ] = names.DEFAULT_PROGRAM
    """`netreduce` sums under RoCE connections; `switchml` sums in a pool of slots ([SwitchML](switchml.md)), `atp` and
    `esa` in slots that a hash chooses ([ATP](atp.md), [ESA](esa.md)); `ps` sums and copies for a parameter server
    ([PS](ps.md)); `repair` combines what donors send ([repair](repair.md)); `dlcp` adds what comes in time
    ([DLCP](dlcp.md)); `grid` sums where a plan of gradient routes says ([routing](routing.md)); `forward` is a plain
    switch; `fpga` is `netreduce` on an aggregation card, here the emulated one, configured through its registers ([your
    own FPGA](bring-your-own-fpga.md)); `rtl` is the same in [hardware](rtl.md), simulated cycle by cycle. A program of
    an installed [package](extending.md#a-protocol-of-your-own-without-touching-the-project) goes by its name. Only the
    command line can name a program in a file: `--set switch.program=mine.py:Program`"""
    release: Annotated[str, choice(names.RELEASES)] = "order"
    """`order`: results leave in PSN order per connection, except for the connection that itself waits at the hole.
    `asap`: as soon as they are complete"""
    gate: Annotated[str, choice(names.GATES)] = "window"
    """`window`: packets ahead of the expected one are taken. `epsn`: only the expected one"""
    commodity: Annotated[str, choice(names.COMMODITY_KINDS)] = "soft"
    """what the switches without aggregation are. `soft`: our own programs. `openflow`: Open vSwitch under our
    controller, in the emulated world; the simulated one takes `soft` ([steering](steering.md))"""
    slot_memory: Annotated[str, choice(("own", "shared"))] = "own"
    """with `pfc`: whether a packet that waits in an aggregation slot still charges the port by which it came. `own`: it
    does not, slots are memory of their own; `shared`: it does, and may then block the packet that it waits for
    ([lossless](lossless.md#slots))"""
    memory: Annotated[int, whole(1, 1 << 16, " (values)"), Key(title="Switch memory (values)")] = 256
    """1 to 65536. `switchml`: how many packets' values the switch can store. Each slot index stores two, itself and its
    shadow copy; over `uc` each of them `uc_packets`. `atp`, `esa`, `ps`: one per index, and all indices are
    everybody's. `grid`: one per slot of each switch"""
    knobs: Annotated[AggregatorKnobs, Key(shown="all as in [ESA](esa.md#the-switch)")] = AggregatorKnobs()
    """`esa`: `{preempt: true, age: none, free: early, ps_copy: true, reminder: true, reclaim: true}`; `atp` heeds
    `reclaim` only, `forward` under `esa` only `reminder`, and what a program does not heed is refused"""
