"""The NetReduce worker on RDMA devices, through libibverbs (pyverbs)."""

from workloads.verbs.endpoint import PeerNames, VerbsEndpoint
from workloads.verbs.nic import Nic, Region, WorkCompletion
from workloads.verbs.worker import VerbsNames, VerbsWorker

__all__ = ["Nic", "PeerNames", "Region", "VerbsEndpoint", "VerbsNames", "VerbsWorker", "WorkCompletion"]
