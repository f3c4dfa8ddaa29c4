cimport cython

cdef object _begin, _end
cdef tuple _CUT


@cython.locals(found=list, pieces=list, since="long long", until="long long", begin="long long", end="long long",
               low="long long", high="long long")
cpdef list cut(object spans, object over)
