from switch_nodes.fpga.registers import Access
from switch_nodes.fpga.regmap import CONFIGURATION, COUNTERS, MAX_MACS, MAX_RINGS, OPERATIONS, REGISTERS, SECTIONS
from switch_nodes.netreduce.program import NetReduceProgram
from workloads.collectives.ina_header import MAX_MEMBERS


def test_every_record_has_its_registers_inside_the_configuration():
    """The map of version 1 is a contract with hardware: these addresses never move."""
    places = {
        "MAGIC": 0x000, "CONTROL": 0x040, "LOAD_STATE": 0x080, "BITSTREAM_HASH": 0x0C0, "COUNT_FRAMES_IN": 0x208,
        "LOAD_BUFFER": 0x400, "LABEL": 0x1000, "RING_COUNT": 0x103C, "MAC0_HIGH": 0x2000, "MAC255_PORT": 0x2FF8,
        "RING0_ID": 0x8000, "RING7_ID": 0x24000, "RING0_MEMBER0_RANK": 0x8800, "RING7_MEMBER63_IP": 0x257C8,
    }  # fmt: skip
    assert {name: REGISTERS[name].address for name in places} == places
    names = [f"MAC{MAX_MACS - 1}_PORT", f"RING{MAX_RINGS - 1}_MEMBER{MAX_MEMBERS - 1}_QPN"]
    assert all(REGISTERS[name].end <= CONFIGURATION.stop for name in names)


def test_the_sections_hold_the_whole_map():
    repeats = {
        "static": ("MAC0_", MAX_MACS),
        "rings": ("RING0_", MAX_RINGS),
        "members": ("RING0_MEMBER0_", MAX_RINGS * MAX_MEMBERS),
    }
    total = 0
    for title, _, registers in SECTIONS:
        prefix, times = next((found for word, found in repeats.items() if f": {word}" in title), ("", 1))
        total += times * len(registers)
        assert [REGISTERS[prefix + register.name].address for register in registers] == [r.address for r in registers]
    assert total == len(REGISTERS.registers)


def test_configuration_can_be_written_but_for_what_is_learnt():
    learnt = {
        register.name.rsplit("_")[-1]
        for register in REGISTERS
        if register.address in CONFIGURATION and register.access is not Access.BOTH
    }
    assert learnt == {"QPN"}


def test_every_counter_of_the_reference_program_has_a_register():
    wanted = set(NetReduceProgram.counter_names) | {"frames_in", "frames_out", "not_running"}
    assert set(COUNTERS) == wanted
    assert all(REGISTERS[f"COUNT_{name.upper()}"].width == 64 for name in COUNTERS)


def test_every_arithmetic_has_a_bit_of_its_own():
    assert len(OPERATIONS) == 9
    assert len(set(OPERATIONS.values())) == 9
    assert OPERATIONS["max", "int32"] == 1 << 5
