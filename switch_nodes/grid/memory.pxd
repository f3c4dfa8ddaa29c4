from workloads.datagrams.slots cimport mix


cpdef long long slot_index(long long job, long long sequence, long long slots) except -1


cdef class MemoryRefused:
    cdef long long _most
    cdef object _gone

    cpdef bint has(self, long long block) except -1
    cpdef add(self, long long block)
    cpdef pass_by(self, long long block, long long bitmap, long long expected)
    cpdef forget(self, long long block)
