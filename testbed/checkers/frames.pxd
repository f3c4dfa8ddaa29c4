cimport cython


cdef class RoceFrame:
    cdef public bytes source, dest, request, extensions, head, payload, constant
    cdef public tuple connection, sack, held
    cdef public long opcode, psn, ack_req, msn, syndrome, payload_bytes
    cdef public long long reth_length
    cdef public object role, reth_va
    cdef public bint icrc_valid, trimmed, starts


@cython.locals(
    at=Py_ssize_t, end=Py_ssize_t, ip_end=Py_ssize_t, data_at=Py_ssize_t, data_end=Py_ssize_t, pad=Py_ssize_t,
    length=Py_ssize_t, udp_length=Py_ssize_t, kept=Py_ssize_t, version=long, fragment=long, protocol=long, dport=long,
    opcode=long, pad_byte=long, qpn="unsigned long", psn="unsigned long", index=Py_ssize_t, masked=bytearray,
    result=RoceFrame, icrc="unsigned long", dscp=long, size=Py_ssize_t, total=long, source=bytes, dest=bytes
)
cpdef parse_frame(bytes frame)
