/* One direction of a link for whoever holds one frame at a time: LinkFilter.admit for frames that no fault can touch. */
#ifndef INA_LINK_H
#define INA_LINK_H

#include <stdint.h>

struct filter;

struct ina_link {
    struct filter *filter;
    uint64_t stream; /* of the link's own jitter */
    int64_t delay_ns;
    int64_t jitter_ns;
    int64_t horizon; /* no frame in order leaves before it */
    int64_t heals_at; /* when something is to be told, or never */
    int64_t overtaken_at; /* when the first frame leaves since admit set it below zero */
};

/* Whether no fault can touch the frame; it is counted then, and leaves at *at. Otherwise it is for `admit`. */
int ina_link_pass(struct ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at);

#endif
