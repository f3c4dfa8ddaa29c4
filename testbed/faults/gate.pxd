from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

cdef long long _LOST


cdef extern from "link.h" nogil:
    struct ina_link:
        pass

    struct ina_loss:
        int64_t rule
        uint64_t key
        int64_t occurrence

    int INA_PASSES, INA_LOST
    int ina_link_decide(ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at, ina_loss *loss)


cdef class Gate:
    cdef public object filter
    cdef size_t _link
    cdef long long _rule, _occurrence
    cdef unsigned long long _key

    cpdef long long passes(self, bytes frame, long long now)
    cpdef tell_lost(self, bytes frame)


cdef inline long long link_decide(Gate gate, bytes frame, long long now) noexcept:
    cdef int64_t at = now
    cdef ina_loss loss
    cdef int fate = ina_link_decide(
        <ina_link *>gate._link, <const uint8_t *><char *>frame, <int32_t>len(frame), now, &at, &loss
    )
    if fate == INA_PASSES:
        return at
    if fate != INA_LOST:
        return -1
    gate._rule, gate._key, gate._occurrence = loss.rule, loss.key, loss.occurrence
    return _LOST
