from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.memory cimport Aggregator
from workloads.kernels cimport copy_bytes, finished, new_draft, put8, put16, put32, write_words
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_BITMAP1, AT_EXPONENT0, AT_EXPONENT1, AT_FLAGS, AT_KIND, AT_NELEM, AT_NEW_SLOT, AT_NODE,
    AT_PAYLOAD,
    AT_PRIORITY, seal,
)

cdef long long _TTL, _SOURCE_MAC_AT, _IDENT_AT, _FRAGMENT_AT, _SOURCE_AT, _PORT_AT
cdef long long _IDENT, _FRAGMENT, _OWN_TTL, _RESULT, _FROM_PORT

cpdef bytes with_flags(AggregatorArrival a, long long flags)
cpdef bytes with_sum(AggregatorArrival a, Aggregator slot, long long flags, bint is_result)
cpdef put_sum(bytes draft, Aggregator slot, long long flags)
cpdef bytes of_service(bytes frame, bytes mac, bytes ip)
