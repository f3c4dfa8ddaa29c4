/* One direction of a link for whoever holds one frame at a time: LinkFilter.admit for frames that no fault can touch, and
 * for some that are lost. */
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

enum ina_fate {
    INA_ASKS = 0,   /* the frame is for `admit`, which also counts it */
    INA_PASSES = 1, /* no fault can touch it, and it is counted */
    INA_LOST = 2,   /* it is not RoCE, is counted, and a loss takes it away; `LinkFilter.lost` reports that */
};

/* The loss that took a frame away. */
struct ina_loss {
    int64_t rule; /* its place among the rules of the link */
    uint64_t key; /* identity of the frame */
    int64_t occurrence;
};

/* What becomes of the frame. *at: when it leaves, if it passes. */
int ina_link_decide(struct ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at,
                    struct ina_loss *loss);

/* Whether no fault can touch the frame; it is counted then, and leaves at *at. Otherwise it is for `admit`. */
int ina_link_pass(struct ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at);

#endif
