"""The history of a run: events as typed values in order, their JSON, the facts that worlds tell, verdicts."""

from testbed.history.files import HistoryLog, read_history, write_history
from testbed.history.records import OwnEvent, Record, event_name, make_record, of_kind, sort_history

__all__ = [
    "HistoryLog",
    "OwnEvent",
    "Record",
    "event_name",
    "make_record",
    "of_kind",
    "read_history",
    "sort_history",
    "write_history",
]
