/* CRC-32 (IEEE 802.3, reflected) with the arguments of zlib's crc32(): by libdeflate where the build has it (build.py), which is
 * several times as fast on whole packets and twenty times on headers, else by zlib. */
#ifndef INA_CRC_H
#define INA_CRC_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#ifdef INA_LIBDEFLATE
#include <libdeflate.h>
#endif

static inline uint32_t ina_crc32(uint32_t crc, const uint8_t *p, size_t n)
{
#ifdef __SANITIZE_ADDRESS__
    for (size_t i = 0; i < n; i++) /* no sanitizer sees what a library reads */
        (void)((const volatile uint8_t *)p)[i];
#endif
#ifdef INA_LIBDEFLATE
    return libdeflate_crc32(crc, p, n);
#else
    return (uint32_t)crc32(crc, p, (uInt)n);
#endif
}

#endif
