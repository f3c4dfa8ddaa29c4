from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "link.h" nogil:
    struct ina_link:
        pass

    int ina_link_pass(ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at)


cdef inline long long link_pass(size_t link, bytes frame, long long now) noexcept:
    cdef int64_t at = now
    if ina_link_pass(<ina_link *>link, <const uint8_t *><char *>frame, <int32_t>len(frame), now, &at):
        return at
    return -1


cdef class Gate:
    cdef public object filter
    cdef size_t _link

    cpdef long long passes(self, bytes frame, long long now)
