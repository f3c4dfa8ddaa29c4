cimport cython
from libc.stdint cimport uint8_t, uint32_t

from workloads.kernels cimport new_draft


cdef inline uint8_t *put32_little(uint8_t *at, uint32_t value) noexcept:
    at[0], at[1], at[2], at[3] = value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF, value >> 24
    return at + 4


cdef inline bytes epb_head(long length, long port, long long time_ns, long size):
    cdef bytes head = new_draft(28)
    cdef uint8_t *at = <uint8_t *><char *>head
    at = put32_little(at, 6)
    at = put32_little(at, length)
    at = put32_little(at, port)
    at = put32_little(at, time_ns >> 32)
    at = put32_little(at, time_ns & 0xFFFFFFFF)
    at = put32_little(at, size)
    put32_little(at, size)
    return head


cdef class PcapngWriter:
    cdef public object _file
    cdef public dict _tails
    cdef public list _held
    cdef public Py_ssize_t _bytes, _most

    @cython.locals(size=Py_ssize_t, length=Py_ssize_t, octets=bytes, tail=bytes, held=list)
    cpdef write_frame(self, long port, object frame, long long time_ns, bint outgoing, str comment=*)
    cpdef write_blocks(self, bytes blocks)
    cpdef flush(self)
    cdef _wrote(self, Py_ssize_t size)
    cpdef bytes _tail(self, long length, bint outgoing, str comment=*)
