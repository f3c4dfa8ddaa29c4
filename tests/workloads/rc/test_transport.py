"""What the rest of the project learns of RoCE packets."""

from __future__ import annotations

import pytest

from tests.support.native import needs_native
from workloads.config import QpConfig
from workloads.rc.transport import RELIABLE, frame_of_flow
from workloads.wire import Envelope

_V4 = Envelope(bytes(6), bytes(6), bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)), 50_000)
_V6 = Envelope(bytes(6), bytes(6), bytes(16), bytes(range(16)), 50_000)


@pytest.mark.parametrize(("envelope", "udp"), [(_V4, 34), (_V6, 54)])
def test_parts_of_a_frame_end_where_its_headers_do(envelope: Envelope, udp: int) -> None:
    """RFC 791, RFC 8200; BTH: IBTA vol. 1, 9.2."""
    assert RELIABLE.parts_of(frame_of_flow(envelope)) == (
        (14, "Ethernet header"), (udp, "IP header"), (udp + 8, "UDP header"), (udp + 9, "opcode"),
        (udp + 12, "BTH flags and P_Key"), (udp + 16, "destination QPN"), (udp + 17, "AckReq"), (udp + 20, "PSN"),
    )  # fmt: skip


@needs_native("rc_fast")
@pytest.mark.parametrize("batches", [True, False])
def test_an_endpoint_without_batches_keeps_no_compiled_paths(batches: bool) -> None:
    endpoint = RELIABLE.endpoint([QpConfig(0x11, 0x22, _V4, 0, 0)], batches=batches)
    assert (endpoint.hold() is not None) == batches
