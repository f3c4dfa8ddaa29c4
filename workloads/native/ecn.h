/* workloads/wire/ecn.py in C. */
#ifndef INA_ECN_H
#define INA_ECN_H

#include "roce.h"

/* mark_ce: set CE in the IP header of the frame. Returns whether it did: 0 where there is no IP packet, its sender is not
 * ECN-capable, or it is marked already. */
static inline int ecn_mark(uint8_t *frame, int32_t length)
{
    uint16_t kind = length < IP_AT ? 0 : get16(frame + ETH_ETHERTYPE);
    if (kind == ETHERTYPE_V4 && length >= IP_AT + IP_BYTES) {
        uint8_t tos = frame[IP_TOS];
        if ((tos & 3) == 0 || (tos & 3) == 3)
            return 0;
        uint32_t before = get16(frame + IP_AT), after = before | 3;
        uint32_t sum = (uint16_t)~get16(frame + IP_CHECKSUM) + (uint16_t)~before + after; /* RFC 1624 */
        sum = (sum & 0xFFFF) + (sum >> 16);
        sum = (sum & 0xFFFF) + (sum >> 16);
        frame[IP_TOS] = tos | 3;
        put16(frame + IP_CHECKSUM, (uint16_t)~sum);
        return 1;
    }
    if (kind == ETHERTYPE_V6 && length >= IP_AT + IP6_BYTES) {
        uint32_t word = get16(frame + IP6_TOS), bits = word >> IP6_TOS_SHIFT & 3;
        if (bits == 0 || bits == 3)
            return 0;
        put16(frame + IP6_TOS, (uint16_t)(word | 3u << IP6_TOS_SHIFT));
        return 1;
    }
    return 0;
}

#endif
