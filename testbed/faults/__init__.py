"""Faults as values, what they do to a packet, and which packets they hit: decided by identity, from a seed."""

import workloads  # noqa: F401  # installs the finder of compiled modules
