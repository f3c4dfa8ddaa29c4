/* Frames that want to leave, one behind the other in one piece of memory, and static layer 2 forwarding into it.
 * The memory belongs to switch_nodes/frame_queue.py, which also makes room. */
#ifndef INA_FRAME_QUEUE_H
#define INA_FRAME_QUEUE_H

#include <stdint.h>
#include <string.h>

struct frame_queue {
    uint8_t *data;
    int64_t *start;  /* of the frame in row i */
    int32_t *length;
    int32_t *port;
    int64_t capacity; /* bytes of data */
    int64_t rows;
    int64_t first;    /* row of the oldest frame */
    int64_t last;     /* row behind the newest */
    int64_t used;     /* bytes behind the newest frame are free */
};

static inline int queue_has_room(const struct frame_queue *queue, int64_t frames, int64_t bytes)
{
    return queue->last + frames <= queue->rows && queue->used + bytes <= queue->capacity;
}

/* Where a frame of up to the promised size may be written; queue_push makes it the newest. */
static inline uint8_t *queue_tail(struct frame_queue *queue) { return queue->data + queue->used; }

static inline void queue_push(struct frame_queue *queue, int32_t port, int32_t length)
{
    int64_t row = queue->last++;
    queue->start[row] = queue->used;
    queue->length[row] = length;
    queue->port[row] = port;
    queue->used += length;
}

struct mac_table {
    const uint64_t *mac; /* 2^bits entries, open addressing, NO_MAC where empty */
    const int32_t *port;
    int32_t bits;
    int32_t unused;
};

#define NO_MAC UINT64_MAX

static inline uint64_t mac_at(const uint8_t *p)
{
    uint32_t high;
    uint16_t low;
    memcpy(&high, p, 4);
    memcpy(&low, p + 4, 2);
    return (uint64_t)low << 32 | high;
}

/* Port behind which a static MAC is; -1 when it is none. The multiplier is 2^64 divided by the golden ratio. */
static inline int32_t mac_port(const struct mac_table *table, uint64_t mac)
{
    uint32_t mask = (1u << table->bits) - 1;
    for (uint32_t at = (uint32_t)(mac * 0x9E3779B97F4A7C15u >> (64 - table->bits));; at++) {
        uint64_t found = table->mac[at & mask];
        if (found == mac)
            return table->port[at & mask];
        if (found == NO_MAC)
            return -1;
    }
}

enum forwarded { FORWARDED, FORWARD_ASK, FORWARD_NO_ROOM };

/* Forward between two static entries; anything else (learning, flooding, filtering) is for Python. */
static inline enum forwarded forward_static(
    const struct mac_table *table, struct frame_queue *queue, const uint8_t *frame, int32_t length, int32_t port)
{
    static const uint8_t link_local[5] = {0x01, 0x80, 0xC2, 0x00, 0x00};
    if (length < 14 || memcmp(frame, link_local, 5) == 0 || mac_port(table, mac_at(frame + 6)) < 0)
        return FORWARD_ASK;
    int32_t out = mac_port(table, mac_at(frame));
    if (out < 0 || out == port)
        return FORWARD_ASK;
    if (!queue_has_room(queue, 1, length))
        return FORWARD_NO_ROOM;
    memcpy(queue_tail(queue), frame, (size_t)length);
    queue_push(queue, out, length);
    return FORWARDED;
}

#endif
