/* Wrong on purpose: the stage must find what is wrong here, or it finds nothing. */
#include <stdint.h>

void write_at(uint8_t *octets, int64_t at) { octets[at] = 1; }

int32_t add(int32_t a, int32_t b) { return a + b; }
