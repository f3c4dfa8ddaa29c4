"""Faults as values, what they do to a packet, and the decision whom they strike: by identity, from a seed."""

import workloads  # noqa: F401  # installs the finder of compiled modules
