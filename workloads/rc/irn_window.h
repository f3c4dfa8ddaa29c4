/* irn_window.py: what leaves next, and what an answer says about what is missing. */
#ifndef INA_RC_IRN_WINDOW_H
#define INA_RC_IRN_WINDOW_H

#include "irn_bitmap.h"

static inline void irn_schedule_oldest(struct irn_pair *pair)
{
    pair->again = pair->una;
    pair->is_due = 1;
}

static inline void irn_schedule_hole(struct irn_pair *pair)
{
    int64_t start = pair->again + 1 > pair->una ? pair->again + 1 - pair->una : 0;
    int64_t hole = irn_hole(&pair->arrived, start), lost = pair->lost_to + 1 - pair->una;
    pair->is_due = hole < (lost > pair->arrived.bits ? lost : pair->arrived.bits);
    if (pair->is_due)
        pair->again = pair->una + hole;
}

/* SenderWindow.upcoming; -1: nothing. */
static inline int64_t irn_upcoming(const struct irn_pair *pair)
{
    if (pair->is_due && pair->again >= pair->una)
        return pair->again;
    return pair->nxt < pair->posted_end && pair->nxt - pair->una < pair->cap ? pair->nxt : -1;
}

/* SenderWindow.left */
static inline void irn_left(struct irn_pair *pair, int64_t sequence)
{
    if (sequence == pair->nxt) {
        pair->nxt++;
        return;
    }
    if (sequence == pair->una) {
        pair->recovering = 1;
        pair->recover_to = pair->nxt - 1;
    }
    irn_schedule_hole(pair);
}

/* SenderWindow.heard */
static inline int irn_heard(struct irn_pair *pair, int is_gap, int64_t cumulative, int64_t selective)
{
    int64_t fresh = cumulative - pair->una;
    if (fresh > 0) {
        irn_shift(&pair->arrived, fresh);
        pair->una = cumulative;
    }
    if (pair->recovering && cumulative > pair->recover_to)
        pair->recovering = 0;
    if (is_gap) {
        if (selective > pair->una)
            irn_set(&pair->arrived, selective - pair->una);
        if (!pair->recovering) {
            if (!fresh)
                irn_schedule_oldest(pair);
        } else if (pair->is_due ? pair->again == selective : selective - pair->una == pair->arrived.bits - 1) {
            irn_schedule_hole(pair);
        }
    }
    int knows_more = pair->in_order || pair->arrived.bits || pair->lost_to >= pair->una;
    if (pair->recovering && fresh > 0 && pair->again < pair->una && knows_more)
        irn_schedule_oldest(pair);
    return fresh > 0;
}

#endif
