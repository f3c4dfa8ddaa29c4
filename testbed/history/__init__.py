"""The history of a run: records in order, the facts that worlds tell, verdicts."""

from testbed.history.records import Record, read_history, sort_history, write_history

__all__ = ["Record", "read_history", "sort_history", "write_history"]
