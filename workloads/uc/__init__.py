"""RoCE v2 unreliable connections (UC), RDMA WRITE only, as sans-I/O state machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.uc.config import UC_FRAME_BYTES, UC_MESSAGE_BYTES
    from workloads.uc.endpoint import UcEndpoint, UcMessage
    from workloads.uc.errors import UcError
    from workloads.uc.pairs import UcPairs, service_qpn
    from workloads.uc.receiver import UcReceiver, UcWrite
    from workloads.uc.sender import UcSender

__all__ = [
    "UC_FRAME_BYTES",
    "UC_MESSAGE_BYTES",
    "UcEndpoint",
    "UcError",
    "UcMessage",
    "UcPairs",
    "UcReceiver",
    "UcSender",
    "UcWrite",
    "service_qpn",
]

__getattr__ = lazily(
    __name__,
    {
        "UC_FRAME_BYTES": ".config",
        "UC_MESSAGE_BYTES": ".config",
        "UcEndpoint": ".endpoint",
        "UcError": ".errors",
        "UcMessage": ".endpoint",
        "UcPairs": ".pairs",
        "UcReceiver": ".receiver",
        "UcSender": ".sender",
        "UcWrite": ".receiver",
        "service_qpn": ".pairs",
    },
)
