from workloads.wire.icrc cimport with_icrc

cdef object _ACK_REQ, _WORD
cdef bytes _ROOM
