/* The arrays of ring.py as the compiled loop sees them, and what it reports to fast.py. */
#ifndef INA_NETREDUCE_STATE_H
#define INA_NETREDUCE_STATE_H

#include <stddef.h>

#include "../forwarding/frame_queue.h"
#include "ina_layout.h"
#include "roce.h"

enum { HEADER_ROOM = 128, ELEMENT_BYTES = 4 };
enum { HEAD_MESSAGE, HEAD_OFFSET, WAITING, OCCUPIED, PEAK, ORDERS };            /* ring.Cursor */
enum { DATA_IN, RESULTS_OUT, SENT_UP, REPLAYED, DUPLICATE, BYPASSED, FORWARDED_COUNT, COUNTERS }; /* fast._COUNTED */
enum { LOG_DUPLICATE, LOG_REPLAYED, LOG_AGGREGATED, LOG_FIELDS = 5 };          /* fast._Log */

struct netreduce_ring {
    int64_t *tag;
    uint64_t *bitmap;
    uint64_t *released;
    uint8_t *done;
    uint8_t *ce;
    int32_t *length;
    uint8_t *header;
    int32_t *header_length;
    uint8_t *payload;
    uint8_t *value;
    uint8_t *partial; /* of a leaf, else NULL */
    int64_t *message;
    int32_t *announced;
    int32_t *completed;
    int32_t *entered;
    int64_t *qpn;
    int64_t *newest;
    int64_t *plain_from;
    int64_t *entry_message;
    int64_t *entry_id;
    int32_t *entry_psn;
    int32_t *entry_length;
    int64_t *cursor;
    uint64_t *edge; /* source address << 32 | destination address, by rank */
    int32_t *ingress;
    int32_t *egress;
    int32_t *ranks;   /* that INA headers name, by connection */
    int32_t *uplinks; /* of a leaf: ports, by spine */
    uint64_t *receive_vas; /* by connection, where it uses IRN; else NULL */
    int64_t *sent_order; /* NULL but for irn-held, as `came` */
    int64_t *came;
    uint64_t everyone;
    int64_t row;        /* bytes from one payload or value to the next: mtu, and a redzone where there is one */
    int64_t header_row; /* the same of headers */
    int32_t size;
    int32_t window;
    int32_t banks;
    int32_t message_packets;
    int32_t mtu;
    int32_t entries;
    int32_t op;
    int32_t dtype;
    int32_t asap;
    int32_t id;
    int32_t group;       /* hosts of the whole ring */
    int32_t connections; /* rows of headers and of the connection table */
    int32_t uplink_count;
    int32_t leaf; /* fabric.py: LeafRing */
    int32_t spine; /* fabric.py: SpineRing; every FIRST is left to Python, which numbers its message */
    int32_t came_columns;
    int32_t unused;
};

struct netreduce_switch {
    struct netreduce_ring *rings;
    struct frame_queue *queue;
    struct mac_table *macs;
    int64_t *counters;
    int64_t *log; /* LOG_FIELDS numbers per entry: kind, ring, rank, message, offset */
    int64_t log_rows;
    int64_t log_used;
    int64_t room_frames; /* WHY_ROOM: what must fit */
    int64_t room_bytes;
    int32_t ring_count;
    int32_t why;
    int64_t combine_length; /* of the operator below, -1 at first */
    uint64_t combine_op;
};

static inline int64_t slot_of(const struct netreduce_ring *ring, int64_t message, int64_t offset)
{
    return message % ring->banks * ring->message_packets + offset;
}

/* fabric.py: a leaf's boundary connection leaves the rack; the one behind it in the table comes down. */
static inline int32_t boundary_of(const struct netreduce_ring *ring) { return ring->size - 1; }
static inline int32_t inbound_of(const struct netreduce_ring *ring) { return ring->size; }

/* fabric.py: root_of, uplink_of */
static inline int32_t uplink_of(const struct netreduce_ring *ring, int64_t message)
{
    uint8_t name[6];
    put16(name, (uint16_t)ring->id);
    put32(name + 2, (uint32_t)message);
    return ring->uplinks[ina_crc32(0, name, sizeof name) % (uint32_t)ring->uplink_count];
}

/* Index into `came` for what comes by a port: that of a connection that comes down counts. */
static inline int64_t came_at(const struct netreduce_ring *ring, int32_t rank, int32_t port)
{
    return (int64_t)rank * ring->came_columns + (ring->leaf && rank == inbound_of(ring) ? port : 0);
}

static inline int64_t packets_of(const struct netreduce_ring *ring, int64_t message)
{
    int64_t index = message % ring->banks;
    return ring->message[index] == message ? ring->announced[index] : 0;
}

#endif
