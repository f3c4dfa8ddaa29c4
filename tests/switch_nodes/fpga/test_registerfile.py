from switch_nodes.fpga.registerfile import RegisterFile
from switch_nodes.fpga.registers import check_of
from switch_nodes.fpga.regmap import MAGIC, REGISTERS

MAGIC_AT, ECHO, CHECK, BANK, LABEL, CONTROL, SIZE = (
    REGISTERS[name].address for name in ("MAGIC", "ECHO", "READ_CHECK", "BANK", "LABEL", "CONTROL", "LOAD_SIZE")
)


def make():
    told = []
    file = RegisterFile({"PORTS": 6}, lambda *pair: told.append(pair), lambda address: told.append(("no", address)))
    return file, told


def test_fixed_reset_and_unknown_words():
    file, _ = make()
    assert file.read(MAGIC_AT) == MAGIC
    assert file.read(REGISTERS["PORTS"].address) == 6
    assert file.read(0x300) == file.read(0x7FFC) == file.read(0x100000) == 0xFFFFFFFF
    file.set("PORTS", 1)
    file.write(LABEL, 5)
    file.reset()
    assert file.read(REGISTERS["PORTS"].address) == 6
    assert file.read(LABEL) == 0


def test_who_may_be_written():
    file, told = make()
    file.write(MAGIC_AT, 1)
    file.write(0x300, 1)
    file.write(CONTROL, 77)
    file.write(SIZE, 9)
    assert told == [("no", MAGIC_AT), ("no", 0x300), (CONTROL, 77)]
    assert file.read(MAGIC_AT) == MAGIC
    assert file.get("LOAD_SIZE") == 9


def test_echo_gives_the_complement():
    file, _ = make()
    for word in (0, 0xFFFFFFFF, 0x5A5AA5A5):
        file.write(ECHO, word)
        assert file.read(ECHO) == word ^ 0xFFFFFFFF


def test_the_read_check_covers_what_was_read_since_it_was_written():
    file, _ = make()
    file.read(MAGIC_AT)
    file.write(CHECK, 123)
    assert file.read(CHECK) == 0
    pairs = [(address, file.read(address)) for address in (MAGIC_AT, ECHO, 0x300, LABEL)]
    assert file.read(CHECK) == file.read(CHECK) == check_of(pairs)


def test_what_is_staged_is_not_active_until_it_is_applied():
    file, _ = make()
    file.write(LABEL, 1)
    file.apply()
    file.write(LABEL, 2)
    file.write(LABEL + 4, 3)
    assert [file.read(LABEL), file.read(LABEL + 4)] == [2, 3]
    file.write(BANK, 1)
    assert [file.read(LABEL), file.read(LABEL + 4)] == [1, 0]
    assert file.active_check == check_of([(LABEL, 1)])
    assert file.staged_check == check_of([(LABEL, 1), (LABEL, 2), (LABEL + 4, 3)])
    file.discard()
    file.write(BANK, 0)
    assert (file.read(LABEL), file.staged_check) == (0, 0)


def test_registers_of_64_bits_are_two_words_low_first():
    file, _ = make()
    file.set("COUNT_ICRC", 5 << 32 | 7)
    at = REGISTERS["COUNT_ICRC"].address
    assert [file.read(at), file.read(at + 4)] == [7, 5]
