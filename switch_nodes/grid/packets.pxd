from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.memory cimport Aggregator
from switch_nodes.aggregators.packets cimport put_sum
from workloads.kernels cimport copy_bytes, finished, new_draft, put8
from workloads.wire.inspected cimport AT_FAN_IN0, AT_PAYLOAD

cdef long long _ECN, _OVERFLOW, _HEAD

cpdef bytes from_slot(Aggregator slot, bytes head, long long flags)
