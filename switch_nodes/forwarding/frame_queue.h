/* Frames that want to leave, one behind the other in one piece of memory, and static layer 2 forwarding into it.
 * The memory belongs to switch_nodes/forwarding/frame_queue.py, which also makes room. */
#ifndef INA_FRAME_QUEUE_H
#define INA_FRAME_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../workloads/native/wire_layout.h"

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
    const int32_t *port; /* a port, or FIRST_GROUP - g for group g */
    const int32_t *group_start; /* of group g in group_port; one more entry than groups */
    const int32_t *group_port;
    uint32_t *sprayed; /* frames sprayed so far, by flow; null: all frames of a flow take one port of a group */
    uint64_t salt;
    int32_t bits;
    int32_t unused;
};

#define SPRAYED_FLOWS 256 /* counts of struct mac_table; flows share them */
#define NO_MAC UINT64_MAX
#define NO_PORT (-1)
#define FIRST_GROUP (-2)

static inline uint64_t mac_at(const uint8_t *p)
{
    uint32_t high;
    uint16_t low;
    memcpy(&high, p, 4);
    memcpy(&low, p + 4, 2);
    return (uint64_t)low << 32 | high;
}

/* Port, or group, behind which a static MAC is; NO_PORT when it is none. The multiplier is 2^64 divided by the golden ratio. */
static inline int32_t mac_port(const struct mac_table *table, uint64_t mac)
{
    uint32_t mask = (1u << table->bits) - 1;
    for (uint32_t at = (uint32_t)(mac * 0x9E3779B97F4A7C15u >> (64 - table->bits));; at++) {
        uint64_t found = table->mac[at & mask];
        if (found == mac)
            return table->port[at & mask];
        if (found == NO_MAC)
            return NO_PORT;
    }
}

static inline uint64_t big_endian(const uint8_t *p, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    return value;
}

/* A step of flow_hash (switch_nodes/forwarding/equal_cost.py): splitmix64 over the words of the flow. */
static inline uint64_t mix_flow(uint64_t value, uint64_t word)
{
    value = (value ^ word) + 0x9E3779B97F4A7C15u;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/* The port of a group that an IPv4 frame takes; NO_PORT for all other frames. *sprayed: the count of its flow, to be raised
 * when it leaves; null where all frames of a flow take one port. */
static inline int32_t group_port(
    const struct mac_table *table, int32_t group, const uint8_t *frame, int32_t length, uint32_t **sprayed)
{
    if (length < UDP_AT || big_endian(frame + ETH_ETHERTYPE, 2) != ETHERTYPE_V4 || frame[IP_AT] >> 4 != 4)
        return NO_PORT;
    int32_t at = IP_AT + 4 * (frame[IP_AT] & 15);
    uint8_t protocol = frame[IP_PROTOCOL];
    uint64_t ports = 0;
    if (!(big_endian(frame + IP_FLAGS_FRAGMENT, 2) & 0x3FFF) && (protocol == 6 || protocol == PROTOCOL_UDP) && length >= at + 4)
        ports = big_endian(frame + at, 4);
    uint64_t hash = mix_flow(mix_flow(table->salt, big_endian(frame + IP_SRC, 8)), (uint64_t)protocol << 32 | ports);
    if (table->sprayed) {
        *sprayed = table->sprayed + hash % SPRAYED_FLOWS;
        hash = mix_flow(hash, **sprayed);
    }
    int32_t start = table->group_start[group];
    uint64_t count = (uint64_t)(table->group_start[group + 1] - start);
    return table->group_port[start + (int32_t)((hash >> 32) * count >> 32)];
}

enum forwarded { FORWARDED, FORWARD_ASK, FORWARD_NO_ROOM };

/* Forward between two static entries; anything else (learning, flooding, filtering) is for Python. */
static inline enum forwarded forward_static(
    const struct mac_table *table, struct frame_queue *queue, const uint8_t *frame, int32_t length, int32_t port)
{
    static const uint8_t link_local[5] = {0x01, 0x80, 0xC2, 0x00, 0x00};
    if (length < ETH_BYTES || memcmp(frame + ETH_DST, link_local, 5) == 0
        || mac_port(table, mac_at(frame + ETH_SRC)) == NO_PORT)
        return FORWARD_ASK;
    int32_t out = mac_port(table, mac_at(frame + ETH_DST));
    uint32_t *sprayed = NULL;
    if (out <= FIRST_GROUP)
        out = group_port(table, FIRST_GROUP - out, frame, length, &sprayed);
    if (out < 0 || out == port)
        return FORWARD_ASK;
    if (!queue_has_room(queue, 1, length))
        return FORWARD_NO_ROOM;
    if (sprayed)
        ++*sprayed;
    memcpy(queue_tail(queue), frame, (size_t)length);
    queue_push(queue, out, length);
    return FORWARDED;
}

#endif
