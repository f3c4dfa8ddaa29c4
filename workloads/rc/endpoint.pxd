from workloads.rc.attention cimport Attention
from workloads.rc.queue_pair cimport QueuePair


cdef class RcEndpoint:
    cdef public bint _batches
    cdef public object _outbox, _regions, _reader, _fast
    cdef public dict _qps, _by_connection
    cdef public set _addresses
    cdef public list _order
    cdef public Attention _attention
    cdef public Py_ssize_t _turn, _turn_packets
    cdef dict __dict__

    cpdef next_frame(self, object now)
    cdef QueuePair _sender(self, object now)
