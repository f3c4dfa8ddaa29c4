cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize

from workloads.kernels cimport copy_bytes, finished, get8, get16, get32, new_draft, put8


cdef inline bytes part(bytes frame, Py_ssize_t at, Py_ssize_t end):
    return PyBytes_FromStringAndSize(<char *>frame + at, end - at)


cdef class RoceFrame:
    cdef public bytes source, dest, request, extensions, head, payload, constant
    cdef public tuple connection, sack, held
    cdef public long opcode, psn, ack_req, msn, syndrome, payload_bytes
    cdef public long long reth_length
    cdef public object role, reth_va
    cdef public bint icrc_valid, trimmed, starts


cdef class RoceData:
    cdef public tuple connection
    cdef public long psn
    cdef public bytes payload


cdef bytes _KNOWN, _EXTENDED, _IS_RC_DATA, _STARTS, _HAS_RETH
cdef object _crc32, _SEED, _DATA, _ANSWER, _OTHER
cdef long _ACKNOWLEDGE, _IRN_ANSWER, _TRIMMED, _HELD_BYTES, _INA_HEADER_BYTES, _PORT


@cython.locals(
    kind=long, at=Py_ssize_t, end=Py_ssize_t, ip_end=Py_ssize_t, headers_end=Py_ssize_t, data_at=Py_ssize_t,
    data_end=Py_ssize_t, pad=Py_ssize_t, kept=Py_ssize_t, place=Py_ssize_t, fragment=long, opcode=long, pad_byte=long,
    psn="unsigned long", covered=bytes, head=bytes, result=RoceFrame, icrc="unsigned long", found="unsigned long", dscp=long,
    total=long, source=bytes, dest=bytes, payload=bytes, request=bytes, bth4=bytes, held=bytes, rest=bytes
)
cpdef parse_frame(bytes frame)
@cython.locals(
    size=Py_ssize_t, at=Py_ssize_t, source_at=Py_ssize_t, address=Py_ssize_t, begin=Py_ssize_t, end=Py_ssize_t,
    source=bytes, dest=bytes
)
cpdef data_of(bytes frame)
