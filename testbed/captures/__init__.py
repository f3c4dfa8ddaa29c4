"""Captures as pcapng files."""

import workloads as workloads  # which finds the compiled modules of this package
