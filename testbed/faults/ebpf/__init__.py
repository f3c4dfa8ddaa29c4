"""Faults on links that end at no node of ours: a classifier on clsact ingress."""

from testbed.faults.ebpf.attach import EbpfFaults
from testbed.faults.ebpf.build import build_object

__all__ = ["EbpfFaults", "build_object"]
