"""The figures of a run, each worked out in one place from its history."""
