from switch_nodes.occupancy cimport Occupancy


cdef class ServedJob(Occupancy):
    cdef public object config, server, own_rack, sets, rack_masks, other_racks, here, heads, ranks_here, ports_here
    cdef public object everyone, target
    cdef public long long job, size, op, service, server_address, elements, first_slot, last_slot, fan_in1
    cdef public bint adds, collects, is_wide
    cdef public dict ranks, delivered
    cdef public list ports, fan_in0, bits
    cdef list _is_here

    cpdef object target_of(self, long long sequence)
    cpdef bint adds_from(self, long long rank, long long sequence) except -1
    cpdef bint has_results_of(self, long long sequence) except -1
    cpdef bint comes_by(self, long long port, long long rank, long long sequence) except -1
    cpdef bint may_hold(self, long long port, long long rank, long long sequence, object bitmap, bint edge) except -1
    cpdef bint joins(self, long long port, long long rank, long long sequence, object bitmap, bint edge) except -1
    cpdef bint is_above(self, long long port, long long sequence) except -1
    cpdef bint is_here(self, long long rank)
    cpdef long long racks_in(self, object bitmap) except -1
