"""The NetReduce worker on RDMA devices, through libibverbs (pyverbs)."""

from workloads.verbs.endpoint import PeerNames, VerbsEndpoint
from workloads.verbs.names import VerbsNames, true_configs
from workloads.verbs.nic import Nic, Region, WorkCompletion
from workloads.verbs.worker import VerbsWorker

__all__ = ["Nic", "PeerNames", "Region", "VerbsEndpoint", "VerbsNames", "VerbsWorker", "WorkCompletion", "true_configs"]
