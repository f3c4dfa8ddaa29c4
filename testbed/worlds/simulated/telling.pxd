from testbed.worlds.simulated.agenda cimport Agenda


cdef class Telling:
    cdef public Agenda agenda
    cdef public dict by_node
    cdef object _on_record, _hear

    cpdef tell(self, str node, object event)
