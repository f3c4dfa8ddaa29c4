/* workloads/wire/dscp.py in C. */
#ifndef INA_DSCP_H
#define INA_DSCP_H

#include "roce.h"

enum { LAYER_CLASSES = 4, NO_DSCP = -1, FIRST_CLASS_DSCP = 8 };

/* read_dscp */
static inline int dscp_read(const uint8_t *frame, int32_t length)
{
    if (length < IP_TOS + 1)
        return NO_DSCP;
    switch (get16(frame + ETH_ETHERTYPE)) {
    case ETHERTYPE_V4:
        return frame[IP_TOS] >> 2;
    case ETHERTYPE_V6:
        return (get16(frame + IP6_TOS) >> IP6_TOS_SHIFT & IP6_TOS_MASK) >> 2;
    default:
        return NO_DSCP;
    }
}

static inline int dscp_is_class(int dscp)
{
    return dscp >= FIRST_CLASS_DSCP && dscp < FIRST_CLASS_DSCP + 2 * LAYER_CLASSES;
}

/* layer_class_of */
static inline int dscp_layer_class(int dscp)
{
    return dscp_is_class(dscp) ? (dscp - FIRST_CLASS_DSCP) / 2 : 0;
}

/* is_low */
static inline int dscp_is_low(int dscp)
{
    return dscp_is_class(dscp) && (dscp & 1);
}

#endif
