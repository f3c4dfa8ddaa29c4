cdef unsigned long long _WORD, _GAMMA, _MULTIPLY_1, _MULTIPLY_2

cpdef unsigned long long finalise(unsigned long long value)
cpdef unsigned long long absorb(unsigned long long state, unsigned long long word)
cpdef unsigned long long draw(unsigned long long stream, unsigned long long identity, unsigned long long occurrence,
                              unsigned long long copy=*, unsigned long long purpose=*)
