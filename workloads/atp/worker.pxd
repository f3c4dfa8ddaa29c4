cimport cython

from workloads.datagrams.slots cimport SlotTable
from workloads.atp.pressure cimport Pressure
from workloads.atp.results cimport KeptResults
from workloads.atp.window cimport SendWindow
from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.quantisation cimport Tensor
from workloads.datagrams.quick_worker cimport QuickWorker
from workloads.kernels cimport copy_bytes, finished, new_draft, put8, put16, put32
from workloads.wire.inspected cimport (
    AT_EXPONENT0, AT_EXPONENT1, AT_FAN_IN0, AT_FLAGS, AT_KIND, AT_NELEM, AT_PAYLOAD, AT_PRIORITY, AT_SEQUENCE, AT_SLOT, AT_TENSOR,
    address_of, nearest_packet, seal,
)

cdef long long _DATA, _RESULT, _EXPONENTS, _NACK, _RATE, _EMPTY, _RESEND, _COLLISION, _OVERFLOW, _SEQUENCES


cdef class AtpWorker(QuickWorker):
    cdef public object _config, _answers
    cdef public Pressure _pressure
    cdef public KeptResults _kept
    cdef public set _groups
    cdef public SlotTable _slots
    cdef public object _alone, _everybody
    cdef public long long _understood
    cdef long long _policy, _memory, _address, _fan_in
    cdef bint _has_priorities
    cdef bytes _template
    cdef Arrival _found

    @cython.locals(window=SendWindow)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    @cython.locals(window=SendWindow)
    cpdef bytes give(self, long long now)
    @cython.locals(window=SendWindow)
    cpdef take_result(self, Arrival found, long long packet, long long now)
    cdef _answer_nack(self, long long packet)
    cpdef bint in_pace(self, long long now) except -1
    cpdef charge(self, long long frame_bytes, long long now)
    cpdef collided(self, long long packet, long long now)
    cpdef bytes encode(self, long long packet, str cause)
    cdef bytes _written(self, bytes template, long long packet, long long flags, long long fan_in)
    cdef long long _priority_of(self, long long own) except -1
    cdef long long _slot_of(self, long long packet) except -1
