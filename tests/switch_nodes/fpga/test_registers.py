import zlib

import pytest

from switch_nodes.fpga.registers import Access, Register, RegisterMap, check_of, doubled, doubled_value, table


def register(name="A", address=0, **more):
    return Register(name, address, Access.BOTH, "something", **more)


def test_places_of_registers():
    many = register(count=3, width=64, address=0x10)
    assert [many.at(index) for index in range(3)] == [0x10, 0x18, 0x20]
    assert many.end == 0x28
    with pytest.raises(IndexError, match=r"A\[3\]"):
        many.at(3)


@pytest.mark.parametrize(
    ("registers", "text"),
    [
        ([register(), register(address=4)], "two registers have one name"),
        ([register(count=2), register("B", 4)], "B overlaps A at 0x4"),
        ([register(width=64), register("B", 4)], "B overlaps A at 0x4"),
        ([register(address=2)], "A does not lie on words"),
        ([register(address=4, width=64)], "A does not lie on words"),
        ([register(width=16)], "A does not lie on words"),
    ],
)
def test_maps_that_cannot_be(registers, text):
    with pytest.raises(ValueError, match=text):
        RegisterMap(registers)


def test_a_map_names_every_word_and_its_reset_value():
    found = RegisterMap(
        [register(reset=7), register("B", 8, count=2), register("C", 0x10, width=64, reset=5 << 32 | 6)]
    )
    names = ["A", "0x00004", "B[0]", "B[1]", "C", "C"]
    assert [found.name_of(address) for address in range(0, 0x18, 4)] == names
    assert found.reset_words() == {0: 7, 8: 0, 12: 0, 16: 6, 20: 5}
    assert found["B"].address == 8
    assert found.at(4) is None


def test_records_of_a_table_lie_one_behind_the_other():
    records = list(table("R", 3, 0x20, [register(address=0x100), register("B", 0x104)]))
    assert [(item.name, item.address) for item in records] == [
        ("R0_A", 0x100), ("R0_B", 0x104), ("R1_A", 0x120), ("R1_B", 0x124), ("R2_A", 0x140), ("R2_B", 0x144),
    ]  # fmt: skip


def test_the_check_is_the_crc_of_address_and_word():
    pairs = [(0x1000, 0x11223344), (0x1004, 0xFFFFFFFF)]
    assert check_of(pairs) == zlib.crc32(bytes.fromhex("00100000443322110410 0000ffffffff".replace(" ", "")))
    assert check_of(pairs[1:], check_of(pairs[:1])) == check_of(pairs)
    assert check_of(pairs) != check_of(pairs[::-1])


@pytest.mark.parametrize("value", [0, 1, 0xFFFF, 0x1234])
def test_doubled_values_notice_any_one_bit(value):
    word = doubled(value)
    assert doubled_value(word) == value
    assert all(doubled_value(word ^ 1 << bit) is None for bit in range(32))


def test_a_dead_bus_is_no_doubled_value():
    assert doubled_value(0xFFFFFFFF) is None
    assert doubled_value(0) is None
