from workloads.kernels cimport NEVER
from workloads.quick cimport Quick
from workloads.wire.inspected cimport is_sound


cdef class QuickHost(Quick):
    cdef public object _share, _training
    cdef public long long _job, _rank, _size
    cdef public bint _failed, _awaits
    cdef public long long _ready, _iteration, _training_due
    cdef public long long _sent, _sent_again, _results, _duplicates, _timeouts, _rejected

    cpdef long long packets_due(self) except? -2
    cpdef long long expire(self, long long now) except? -1
    cpdef begin(self, long long now)
    cpdef complete(self, long long now)
    cpdef fail(self, str reason, str detail)
    cpdef reject(self, str reason, str detail)
    cdef bint _is_readable(self, bytes frame) except -1
    cdef _follow(self)
