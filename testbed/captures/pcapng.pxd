cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t


cdef inline uint32_t get32_little(bytes octets, Py_ssize_t at) noexcept:
    cdef const uint8_t *word = <const uint8_t *><char *>octets + at
    return word[0] | <uint32_t>word[1] << 8 | <uint32_t>word[2] << 16 | <uint32_t>word[3] << 24


cdef inline bytes copied(bytes octets, Py_ssize_t at, Py_ssize_t end):
    return PyBytes_FromStringAndSize(<char *>octets + at, end - at)


cdef unsigned long _FRAME, _SECTION, _INTERFACE, _BYTE_ORDER, _OUT, _FLAGS_OPTION
cdef Py_ssize_t _PIECE_BYTES
cdef object _new_tuple


cdef class _Blocks:
    cdef object _file
    cdef public bytes data
    cdef public Py_ssize_t at, end
    cdef public unsigned long kind
    cdef public bint is_little

    @cython.locals(length=Py_ssize_t)
    cdef bint advance(self) except -1
    cdef unsigned long word(self, Py_ssize_t offset)
    cdef bytes block(self)
    @cython.locals(rest=bytes)
    cdef bint _has(self, Py_ssize_t size) except -1


cdef class _Frames:
    cdef object _path
    cdef _Blocks _blocks
    cdef list _interfaces
    cdef Py_ssize_t _count
    cdef public Py_ssize_t number

    @cython.locals(blocks=_Blocks)
    cdef object following(self)
    @cython.locals(
        blocks=_Blocks, data=bytes, begin=Py_ssize_t, end=Py_ssize_t, stop=Py_ssize_t, after=Py_ssize_t,
        number=Py_ssize_t, captured=Py_ssize_t, time_ns=object, outgoing=bint, comment=str
    )
    cdef object _frame(self)
