cdef unsigned long long _MASK, _GOLDEN, _FIRST, _SECOND

cpdef unsigned long long mix(unsigned long long word) except? 0


cdef class SlotTable:
    cdef public object _memory, _salt, _uses
    cdef public long long _most
    cdef public long long[::1] _slots
    cdef public list _moves

    cpdef long long slot_of(self, long long entry) except -1
    cpdef move(self, long long entry, long long slot)
