"""Ends of unreliable connections that tests drive by whole messages."""

from __future__ import annotations

from workloads.events import FrameRejected
from workloads.switchml.uc_mapping import frames_of
from workloads.transports.endpoint import Endpoint
from workloads.transports.messages import SendRequest
from workloads.uc import UcMessage, UcWrite

__all__ = ["dropped", "received", "sent"]


def sent(endpoint: Endpoint[UcMessage], qpn: int, write: UcWrite) -> list[bytes]:
    """The frames of a message."""
    return frames_of(endpoint, qpn, SendRequest(0, (write.payload,), write.imm, write.va, write.rkey))


def received(endpoint: Endpoint[UcMessage], frame: bytes) -> UcMessage | None:
    """The message that a frame completes. The endpoint must not drop the frame."""
    endpoint.receive_frame(0, frame, 0)
    assert endpoint.next_event() is None
    return endpoint.next_completion()


def dropped(endpoint: Endpoint[UcMessage], frame: bytes) -> FrameRejected | None:
    """Why the endpoint drops a frame; None: it ignores the frame."""
    endpoint.receive_frame(0, frame, 0)
    event = endpoint.next_event()
    assert endpoint.next_completion() is None
    assert event is None or isinstance(event, FrameRejected)
    return event
