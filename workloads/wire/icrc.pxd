cimport cython

from libc.stdint cimport uint8_t, uint32_t


cdef extern from "crc.h" nogil:
    uint32_t ina_crc32(uint32_t crc, const uint8_t *octets, size_t size)


cdef inline unsigned long crc_of(bytearray octets, unsigned long state) noexcept:
    return ina_crc32(<uint32_t>state, <const uint8_t *><char *>octets, len(octets))


cdef inline unsigned long icrc_at(bytes frame, Py_ssize_t at) noexcept:
    cdef const uint8_t *octets = <const uint8_t *><char *>frame + at
    return octets[0] | octets[1] << 8 | octets[2] << 16 | <uint32_t>octets[3] << 24


cdef inline bytes with_icrc(bytes frame, Py_ssize_t at, unsigned long state):
    cdef uint8_t *octets = <uint8_t *><char *>frame
    cdef Py_ssize_t last = len(frame) - 4
    cdef uint32_t found = ina_crc32(<uint32_t>state, octets + at, last - at)
    octets[last], octets[last + 1] = found & 0xFF, found >> 8 & 0xFF
    octets[last + 2], octets[last + 3] = found >> 16 & 0xFF, found >> 24
    return frame


cdef unsigned long _PREFIX_STATE
cdef Py_ssize_t _UDP_CHECKSUM, _BTH_RESERVED, _IP_AT, _IPV6_BYTES

cpdef unsigned long icrc_state(object ip_to_somewhere) except? 0
@cython.locals(last=Py_ssize_t)
cpdef bint icrc_holds(bytes frame, Py_ssize_t end) except -1
@cython.locals(size=Py_ssize_t, udp=Py_ssize_t, masked=bytearray)
cdef bytearray _masked(bytes ip_to_somewhere)
