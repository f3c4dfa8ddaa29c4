/* Answers under irn-held that pass: what answers.py adds to their maps, by the rules there. */
#ifndef INA_NETREDUCE_ANSWERS_H
#define INA_NETREDUCE_ANSWERS_H

#include "place.h"
#include "state.h"

enum {
    MAP_AT = EXT_AT + AETH_BYTES + SACK_BYTES,
    ANSWER_BYTES = MAP_AT + HELD_MAP_BYTES + ICRC_BYTES,
    ANSWER_BYTES_V6 = ANSWER_BYTES + IP6_BYTES - IP_BYTES, /* which an Ethernet frame with IPv4 may be padded to */
    ANSWER_ROOM = ANSWER_BYTES + 3
};

/* workloads/wire/held_map.py */
struct held_map {
    uint32_t first;
    uint32_t newest;
    uint64_t bits;
    int32_t packets;
};

/* The lowest 1 to 64 bits. */
static uint64_t lowest(int32_t count) { return UINT64_MAX >> (HELD_MAP_MOST - count); }

/* Whether the bytes are a map. */
static int read_map(const uint8_t *at, struct held_map *map)
{
    *map = (struct held_map){get24(at + HELD_MAP_FIRST), get32(at + HELD_MAP_NEWEST), get64(at + HELD_MAP_BITS), at[HELD_MAP_PACKETS] + 1};
    return map->packets <= HELD_MAP_MOST && !(map->bits & ~lowest(map->packets))
        && (map->newest == NO_PSN || map->newest <= PSN_MASK);
}

static void write_map(uint8_t *at, const struct held_map *map)
{
    at[HELD_MAP_PACKETS] = (uint8_t)(map->packets - 1);
    put24(at + HELD_MAP_FIRST, map->first);
    put32(at + HELD_MAP_NEWEST, map->newest);
    put64(at + HELD_MAP_BITS, map->bits);
}

/* answers.py: _order_of */
static int64_t order_of(const struct netreduce_ring *ring, int32_t rank, uint32_t psn)
{
    struct place place;
    int64_t id;
    if (psn == NO_PSN || !match(ring, rank, psn, &place, &id))
        return -1;
    int64_t slot = slot_of(ring, place.message, place.offset);
    return ring->tag[slot] == place.message ? ring->sent_order[slot * ring->connections + rank] : -1;
}

/* answers.py: _is_held; ring.py and fabric.py: has, went_on */
static int is_held(const struct netreduce_ring *ring, int32_t rank, int64_t message, int64_t slot, int64_t limit)
{
    if (ring->tag[slot] != message)
        return ring->tag[slot] > message;
    int has = ring->leaf && rank == inbound_of(ring) ? ring->done[slot] : (int)(ring->bitmap[slot] >> rank & 1);
    int went_on = ring->leaf && rank == boundary_of(ring) ? ring->bitmap[slot] == ring->everyone : ring->done[slot];
    return has && (!went_on || ring->sent_order[slot * ring->connections + rank] > limit);
}

/* answers.py: _of_ring, of a map about a message that `place` says. */
static void add_to_map(const struct netreduce_ring *ring, int32_t rank, const struct place *place, struct held_map *map,
                       int32_t *port)
{
    int64_t limit = order_of(ring, rank, map->newest), slot = slot_of(ring, place->message, place->offset);
    int comes_down = ring->leaf && rank == inbound_of(ring);
    if (map->packets > place->packets - place->offset)
        map->packets = place->packets - place->offset;
    map->bits &= lowest(map->packets);
    for (int32_t i = 0; i < map->packets; i++)
        map->bits |= (uint64_t)is_held(ring, rank, place->message, slot + i, limit) << i;
    *port = comes_down ? uplink_of(ring, place->message) : NO_PORT;
    int64_t came = ring->came[came_at(ring, rank, *port)];
    map->newest = came >= 0 ? (uint32_t)came : NO_PSN;
}

/* answers.py: read. Bytes of the answer that leaves in place of this one, which are in `mapped`; *port is where, or
 * NO_PORT: where a plain switch sends it. 0 when this one passes as it is. */
static int32_t map_answer(const struct netreduce_switch *sw, const uint8_t *frame, int32_t length,
                          const struct roce_view *view, uint8_t *mapped, int32_t *port)
{
    struct held_map map;
    if ((length != ANSWER_BYTES && length != ANSWER_BYTES_V6) || view->end != (uint32_t)ANSWER_BYTES + view->pad
        || !read_map(frame + MAP_AT, &map) || !roce_icrc_is_valid(frame, view->end))
        return 0;
    uint64_t data_addresses = (uint64_t)view->dst_ip << 32 | view->src_ip;
    for (const struct netreduce_ring *ring = sw->rings; ring < sw->rings + sw->ring_count; ring++)
        for (int32_t rank = 0; ring->came && rank < ring->connections; rank++) {
            struct place place;
            int64_t id;
            if (ring->edge[rank] != data_addresses || !match(ring, rank, map.first, &place, &id))
                continue;
            add_to_map(ring, rank, &place, &map, port);
            memcpy(mapped, frame, view->end);
            write_map(mapped + MAP_AT, &map);
            put32le(mapped + view->end - ICRC_BYTES, roce_icrc(mapped, view->end));
            return (int32_t)view->end;
        }
    return 0;
}

#endif
