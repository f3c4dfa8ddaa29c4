"""The figures of a run, from its history."""
