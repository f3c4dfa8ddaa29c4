import pytest

from switch_nodes.fpga.io.mapped import MappedTransport


def test_words_of_a_file(tmp_path):
    path = tmp_path / "resource0"
    path.write_bytes(bytes(range(64)))
    transport = MappedTransport(path, 64)
    assert transport.read(4, 8) == bytes(range(4, 12))
    transport.write(8, b"\xff\xee\xdd\xcc\x01\x02\x03\x04")
    transport.close()
    assert path.read_bytes()[8:16] == b"\xff\xee\xdd\xcc\x01\x02\x03\x04"


@pytest.mark.parametrize(("address", "size"), [(2, 4), (0, 6), (-4, 4), (60, 8)])
def test_accesses_outside(tmp_path, address, size):
    path = tmp_path / "resource0"
    path.write_bytes(bytes(64))
    transport = MappedTransport(path, 64)
    with pytest.raises(ValueError, match="not words of the mapping"):
        transport.read(address, size)
    transport.close()


def test_files_that_are_too_small_or_not_there(tmp_path):
    path = tmp_path / "resource0"
    path.write_bytes(bytes(60))
    with pytest.raises(OSError, match="less than 0x40 bytes"):
        MappedTransport(path, 64)
    with pytest.raises(FileNotFoundError):
        MappedTransport(tmp_path / "none", 64)
