cimport cython

from workloads.kernels cimport get8, get32
from workloads.wire.icrc cimport icrc_holds

cdef Py_ssize_t _IP_AT, _BTH_BYTES, _ICRC_BYTES
cdef bytes _IS_DATA, _EXTENDED, _STARTS, _ENDS, _HAS_RETH, _HAS_IMM
cdef object _WHOLE, _DAMAGED


cdef class PassingData:
    cdef public long long qpn, psn
    cdef public object payload, target
    cdef public Py_ssize_t payload_at
    cdef public bint may_start, ends, starts, is_padded, has_immediate
    cdef public tuple connection


cdef class PassingFrame:
    cdef bytes _frame
    cdef object _envelope
    cdef Py_ssize_t _at, _end
    cdef public bint is_data

    @cython.locals(frame=bytes, end=Py_ssize_t, last=Py_ssize_t)
    cpdef wholeness(self)
    @cython.locals(
        frame=bytes, at=Py_ssize_t, end=Py_ssize_t, opcode="unsigned long", pad=Py_ssize_t, payload_at=Py_ssize_t,
        payload_end=Py_ssize_t, made=PassingData
    )
    cpdef data(self)


@cython.locals(whole=bytes, found=tuple)
cpdef PassingFrame read_passing(object frame)
