cimport cython

cdef object _new


cdef class OutMessage:
    cdef public object plan, wr_id
    cdef public tuple segments, opcodes
    cdef list _starts
    cdef public long long end, first, length, mtu
    cdef public bytes imm, reth

    @cython.locals(start="long long", stop="long long", at=Py_ssize_t, begin="long long", missing="long long",
                   parts=list)
    cpdef payload(self, long long index)
    @cython.locals(starts=bint, ends=bint, extensions=bytes)
    cpdef packet(self, long long sequence, long long psn, bint ack_req)
