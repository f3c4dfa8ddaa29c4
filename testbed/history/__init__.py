"""The history of a run: events as typed values in order, their JSON, the facts that worlds report, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from testbed.history.files import HistoryLog, read_history, write_history
    from testbed.history.records import OwnEvent, Record, event_name, make_record, of_kind, of_kinds, sort_history

__all__ = [
    "HistoryLog",
    "OwnEvent",
    "Record",
    "event_name",
    "make_record",
    "of_kind",
    "of_kinds",
    "read_history",
    "sort_history",
    "write_history",
]

__getattr__ = lazily(
    __name__,
    {
        "HistoryLog": ".files",
        "OwnEvent": ".records",
        "Record": ".records",
        "event_name": ".records",
        "make_record": ".records",
        "of_kind": ".records",
        "of_kinds": ".records",
        "read_history": ".files",
        "sort_history": ".records",
        "write_history": ".files",
    },
)
