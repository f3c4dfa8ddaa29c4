"""Emulated cards with a driver, buses that fail, programs that are wrong in one bit, and traces to find them with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from numpy.typing import NDArray

from switch_nodes.config import SwitchConfig
from switch_nodes.fpga.bitstream import reference_bitstream
from switch_nodes.fpga.card import PROGRAMS, CardProgram, EmulatedCard
from switch_nodes.fpga.driver import CardDriver
from switch_nodes.fpga.faults import CardFault
from switch_nodes.fpga.golden import TimedFrame
from switch_nodes.fpga.transport import CardTransport, MemoryTransport, StepClock
from switch_nodes.netreduce.program import NetReduceProgram, RingContribution
from switch_nodes.netreduce.slot_actions import SlotActions
from tests.support.netreduce_harness import Job, small_job
from tests.support.slot_mutants import program_with
from workloads.wire import Bth, psn_add
from workloads.wire.envelope import ETHERNET, IPV4, UDP

BITS = reference_bitstream()


class Bus:
    """A card's bus under observation: `spoil(number, "read" or "write", address, data)` may alter data, or return None
    to lose the access (writes)."""

    max_bytes = 256

    def __init__(self, card: EmulatedCard, clock: Callable[[], int]) -> None:
        self._inner = MemoryTransport(card, clock)
        self.accesses = 0
        self.spoil: Callable[[int, str, int, bytes], bytes | None] = lambda number, kind, address, data: data

    def read(self, address: int, size: int) -> bytes:
        self.accesses += 1
        data = self.spoil(self.accesses, "read", address, self._inner.read(address, size))
        assert data is not None
        return data

    def write(self, address: int, data: bytes) -> None:
        self.accesses += 1
        spoilt = self.spoil(self.accesses, "write", address, data)
        if spoilt is not None:
            self._inner.write(address, spoilt)


class CardBench:
    """A card, its bus, its driver, in a time of its own."""

    def __init__(
        self,
        ports: int = 4,
        faults: Sequence[CardFault] = (),
        programs: dict[str, CardProgram] | None = None,
        load_ns: int = 0,
        max_slots: int = 1 << 20,
    ) -> None:
        self.clock = StepClock()
        self.card = EmulatedCard(
            ports,
            faults=faults,
            programs=PROGRAMS if programs is None else programs,
            load_ns=load_ns,
            max_slots=max_slots,
        )
        self.bus = Bus(self.card, self.clock)
        self.driver = self.drive(self.bus)

    def drive(self, transport: CardTransport) -> CardDriver:
        return CardDriver(transport, card="c1", clock=self.clock, sleep=self.clock.sleep)

    def fault_now(self, *faults: CardFault) -> None:
        """From now on the card has these."""
        self.card.faults = {type(fault): fault for fault in faults}


def card_config(job: Job | None = None, **changes: object) -> SwitchConfig:
    return replace((job or small_job()).config(), **{"program": "fpga"} | changes)  # type: ignore[arg-type]


def job_trace(job: Job) -> list[TimedFrame]:
    """Every packet of every rank, in order, and a frame that is not aggregated."""
    frames = [
        TimedFrame(job.port(rank), 1000 * index, job.frame(rank, message, offset))
        for index, (message, offset) in enumerate(job.places())
        for rank in range(job.size)
    ]
    return [*frames, TimedFrame(1, 10**6, job.answer(0, 5, 1))]


WRONG_BYTE, WRONG_MASK = 20, 0x10


def one_bit_wrong(wrong_slot: int) -> type[NetReduceProgram]:
    """One bit of one element of one slot's sums is turned round."""

    @program_with
    class OneBitWrong(SlotActions):
        def _sum(self, c: RingContribution, slot: int, into: NDArray) -> None:  # type: ignore[type-arg]
            super()._sum(c, slot, into)
            if slot == wrong_slot and len(c.elements) > WRONG_BYTE:
                into[slot, WRONG_BYTE] ^= WRONG_MASK

    return OneBitWrong


@program_with
class WrongPsn(SlotActions):
    """The results of one connection carry the next PSN."""

    def build_result(self, header: bytes, value: bytes, congested: bool) -> bytes:
        at = ETHERNET.size + IPV4.size + UDP.size
        bth = Bth.decode(header, at)
        if bth.dest_qpn == 0x101:
            bth = replace(bth, psn=psn_add(bth.psn, 1))
        return super().build_result(header[:at] + bth.encode() + header[at + Bth.LAYOUT.size :], value, congested)
