from workloads.kernels cimport copy_bytes, finished, get8, get16, get32, new_draft, put16, words_sum

cdef long long AT_VERSION, AT_KIND, AT_FLAGS, AT_JOB, AT_SEQUENCE, AT_SLOT, AT_BITMAP0, AT_FAN_IN0, AT_OP, AT_NELEM
cdef long long AT_EXPONENT0, AT_EXPONENT1, AT_TENSOR, AT_NODE, AT_NEW_SLOT, AT_BITMAP1, AT_FAN_IN1, AT_PRIORITY
cdef long long AT_PAYLOAD
cdef long long _UDP_AT, _IP_AT, _SOURCE_AT, _TARGET_AT, _TYPE_AT, _PROTOCOL_AT, _LENGTH_AT, _FRAGMENT_AT, _CHECKSUM_AT
cdef long long _PORT_AT, _UDP_LENGTH_AT, _UDP_CHECKSUM_AT, _IPV4_BYTES
cdef long long _KINDS, _POLICIES, _PORT, _GRID, _MOST, _MOST_GRID, _SEQUENCES

cpdef bint is_sound(bytes frame)
cpdef seal(bytes draft, Py_ssize_t end)
cpdef bytes addressed(bytes frame, bytes mac, bytes ip)
cpdef long long address_of(bytes frame, bint is_target)
cpdef long long as_signed(long long byte)
cpdef long long nearest_packet(long long sequence, long long base)
