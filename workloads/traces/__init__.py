"""Workloads that others made: execution traces of training jobs, read from files, matched between ranks, and run."""
