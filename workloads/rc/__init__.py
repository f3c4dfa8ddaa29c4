"""RoCE v2 reliable connections (RC) as sans-I/O Machines: requester, responder, queue pair, endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.rc.answers import Answer
    from workloads.rc.endpoint import PORT, RcEndpoint
    from workloads.rc.recovery import MAX_WINDOW, rto_ns
    from workloads.rc.requester import Requester
    from workloads.rc.requester_table import REQUESTER_TABLE
    from workloads.rc.responder import Responder
    from workloads.rc.responder_table import RESPONDER_TABLE
    from workloads.rc.transport import RELIABLE, ReliableTransport
    from workloads.transports.messages import (
        SUCCESS,
        Completion,
        ReceiveCompleted,
        ReceiveRequest,
        SendCompleted,
        SendRequest,
    )

__all__ = [
    "MAX_WINDOW",
    "PORT",
    "RELIABLE",
    "REQUESTER_TABLE",
    "RESPONDER_TABLE",
    "SUCCESS",
    "Answer",
    "Completion",
    "RcEndpoint",
    "ReceiveCompleted",
    "ReceiveRequest",
    "ReliableTransport",
    "Requester",
    "Responder",
    "SendCompleted",
    "SendRequest",
    "rto_ns",
]

__getattr__ = lazily(
    __name__,
    {
        "Answer": ".answers",
        "Completion": "workloads.transports.messages",
        "MAX_WINDOW": ".recovery",
        "PORT": ".endpoint",
        "REQUESTER_TABLE": ".requester_table",
        "RESPONDER_TABLE": ".responder_table",
        "RELIABLE": ".transport",
        "RcEndpoint": ".endpoint",
        "ReliableTransport": ".transport",
        "ReceiveCompleted": "workloads.transports.messages",
        "ReceiveRequest": "workloads.transports.messages",
        "Requester": ".requester",
        "Responder": ".responder",
        "SUCCESS": "workloads.transports.messages",
        "SendCompleted": "workloads.transports.messages",
        "SendRequest": "workloads.transports.messages",
        "rto_ns": ".recovery",
    },
)
