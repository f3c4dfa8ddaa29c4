"""Which DSCP is which class, and where it is read in a frame."""

from __future__ import annotations

import pytest

from workloads.wire import Envelope
from workloads.wire.dscp import LAYER_CLASSES, NO_DSCP, dscp_of, is_low, layer_class_of, read_dscp
from workloads.wire.envelope import encode_envelope


def test_eight_values_are_classes_and_all_others_are_served_best_and_never_low() -> None:
    known = {dscp_of(layer, low=low): (layer, low) for layer in range(LAYER_CLASSES) for low in (False, True)}
    assert known == {8: (0, False), 9: (0, True), 10: (1, False), 11: (1, True), 12: (2, False), 13: (2, True),
                     14: (3, False), 15: (3, True)}  # fmt: skip
    for dscp in range(NO_DSCP, 64):
        assert (layer_class_of(dscp), is_low(dscp)) == known.get(dscp, (0, False)), dscp


@pytest.mark.parametrize("layer", [-1, 4])
def test_there_are_no_other_layer_classes(layer: int) -> None:
    with pytest.raises(ValueError, match=rf"^layer class {layer}; allowed: 0 .. 3$"):
        dscp_of(layer, low=True)


@pytest.mark.parametrize("address_bytes", [4, 16])
@pytest.mark.parametrize("ecn", [0, 2, 3])
def test_it_is_read_from_both_versions_of_ip_whatever_the_ecn_bits(address_bytes: int, ecn: int) -> None:
    for dscp in range(64):
        addresses = bytes(address_bytes), bytes(address_bytes)
        frame = encode_envelope(Envelope(bytes(6), bytes(6), *addresses, tos=dscp << 2 | ecn), 20)
        assert read_dscp(frame) == read_dscp(memoryview(frame)) == dscp


@pytest.mark.parametrize("frame", [b"", bytes(13), bytes(12) + b"\x08\0\x45", bytes(12) + b"\x08\x06" + bytes(40)])
def test_what_holds_no_ip_has_none(frame: bytes) -> None:
    assert read_dscp(frame) == NO_DSCP
