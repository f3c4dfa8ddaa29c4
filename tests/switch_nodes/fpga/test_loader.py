import pytest

from switch_nodes.fpga.bitstream import bitstream_hash, reference_bitstream
from switch_nodes.fpga.loader import LoadSlot
from switch_nodes.fpga.registerfile import RegisterFile
from switch_nodes.fpga.regmap import PAGE_BYTES, Failure, LoadState

BITS = reference_bitstream()
SIZE = len(BITS)
PAGES = -(-len(BITS) // PAGE_BYTES)


def loaded(order, data=BITS, expected=BITS, size=SIZE):
    registers = RegisterFile({}, lambda *pair: None, lambda address: None)
    slot = LoadSlot(registers, 5_000_000)
    registers.set("LOAD_SIZE", size)
    for index in range(8):
        registers.set(
            "EXPECTED_HASH", int.from_bytes(bitstream_hash(expected)[4 * index : 4 * index + 4], "big"), index
        )
    slot.begin()
    for page in order:
        part = data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES].ljust(PAGE_BYTES, b"\0")
        for index in range(PAGE_BYTES // 4):
            registers.set("LOAD_BUFFER", int.from_bytes(part[4 * index : 4 * index + 4], "little"), index)
        assert slot.store(page) == (page < -(-size // PAGE_BYTES))
    return slot, registers


@pytest.mark.parametrize("order", [range(PAGES), range(PAGES - 1, -1, -1), [0, 0, *range(PAGES), 2]])
def test_pages_come_in_any_order_and_twice(order):
    slot, registers = loaded(order)
    failure, stream, data = slot.check(["netreduce"])
    assert (failure, data) == (Failure.NONE, BITS)
    slot.begin_check(100)
    assert (slot.busy, slot.due) == (True, 5_000_100)
    assert not slot.store(0)
    slot.load(failure, stream, data)
    assert (slot.state, slot.hash, slot.busy) == (LoadState.LOADED, bitstream_hash(BITS), False)
    assert registers.get("LOAD_MS") == 5
    assert registers.get("PROGRAM_VERSION") == 0x10000


@pytest.mark.parametrize(
    ("arguments", "failure"),
    [
        ({"order": range(PAGES - 1)}, Failure.SHORT_LOAD),
        ({"order": [0, 0, 0, 0, 0, 0, 0]}, Failure.SHORT_LOAD),
        ({"order": range(PAGES), "size": 0}, Failure.SHORT_LOAD),
        ({"order": range(PAGES), "data": BITS[:-1] + b"x"}, Failure.WRONG_HASH),
        ({"order": range(PAGES), "size": len(BITS) - 1}, Failure.WRONG_HASH),
        ({"order": range(1), "data": b"rubbish", "expected": b"rubbish", "size": 7}, Failure.NOT_A_BITSTREAM),
    ],
)
def test_what_is_not_loaded(arguments, failure):
    slot, registers = loaded(**arguments)
    found, stream, data = slot.check(["netreduce"])
    assert found is failure
    slot.load(found, stream, data)
    assert (slot.state, slot.program, slot.hash) == (LoadState.FAILED, None, bytes(32))
    assert registers.get("LOAD_STATE") == LoadState.FAILED


def test_a_program_that_the_card_cannot_run():
    slot, _ = loaded(range(PAGES))
    assert slot.check(["switchml"])[0] is Failure.NOT_A_BITSTREAM


def test_nothing_is_stored_outside_a_load():
    slot, _ = loaded([0])
    slot.erase()
    assert not slot.store(0)
    assert slot.stored == 0
