cimport cython

from workloads.kernels cimport get8, get32
from workloads.wire.icrc cimport icrc_holds

cdef Py_ssize_t _BTH_BYTES, _ICRC_BYTES
cdef unsigned long _NOWHERE
cdef bytes _EXTENDED, _RETH_AT, _IMM_AT, _AETH_AT, _SACK_AT

@cython.locals(
    at=Py_ssize_t, end=Py_ssize_t, behind=Py_ssize_t, payload_end=Py_ssize_t, pad=Py_ssize_t, extended=Py_ssize_t,
    opcode="unsigned long", word="unsigned long", reth=object, imm=object, syndrome=object, sack=object,
    found=tuple, values=tuple
)
cdef _read(bytes frame)
