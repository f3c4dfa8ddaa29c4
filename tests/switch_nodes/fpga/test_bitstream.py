import hashlib
import json

import pytest

from switch_nodes.fpga.bitstream import Bitstream, BitstreamError, bitstream_hash, reference_bitstream


def test_there_and_back():
    data = reference_bitstream("netreduce", "1.7", 100)
    stream = Bitstream.decode(data)
    assert (stream.program, stream.version, len(stream.bits), stream.version_word) == ("netreduce", "1.7", 100, 0x10007)
    assert stream.encode() == data
    assert bitstream_hash(data) == hashlib.sha256(data).digest()


def test_the_reference_is_always_the_same_and_others_differ():
    assert reference_bitstream() == reference_bitstream()
    assert len({reference_bitstream(), reference_bitstream("other"), reference_bitstream(version="1.1")}) == 3


def manifest(**change):
    bits = b"bits"
    values = {"program": "p", "version": "1.0", "sha256": hashlib.sha256(bits).hexdigest()} | change
    return b"INA-BITSTREAM 1\n" + json.dumps(values).encode() + b"\n" + bits


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "does not begin"),
        (b"INA-BITSTREAM 2\n{}\n", "does not begin"),
        (b"INA-BITSTREAM 1\n{}", "manifest is not"),
        (b"INA-BITSTREAM 1\nx\n", "manifest is not"),
        (b"INA-BITSTREAM 1\n[]\n", "manifest is not"),
        (manifest(more=1), "manifest is not"),
        (manifest() + b"x", "not those of its manifest"),
        (manifest(program=""), "no name of 1 .. 16 bytes"),
        (manifest(program="p" * 17), "no name of 1 .. 16 bytes"),
        (manifest(version="1"), "not major.minor"),
        (manifest(version="1.0\n"), "not major.minor"),
    ],
)
def test_files_that_are_none(data, text):
    assert Bitstream.decode(manifest()).bits == b"bits"
    with pytest.raises(BitstreamError, match=text):
        Bitstream.decode(data)
