"""The history of a run, and what is concluded from it."""

from testbed.history.records import Record, read_history, sort_history, write_history

__all__ = ["Record", "read_history", "sort_history", "write_history"]
