"""Captures: pcapng files, what a switch saw written as one, and one split by link."""

import workloads as workloads  # which finds the compiled modules of this package
