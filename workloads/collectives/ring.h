/* A ring all-reduce that compiled code carries on while it holds the endpoint: ring.py is the reference, and
 * carried.py hands it over and takes it back. */
#ifndef INA_COLLECTIVES_RING_H
#define INA_COLLECTIVES_RING_H

#include "../rc/irn.h"

enum { RING_LOG = 1280 /* entries of one frame, at most: two for each message of the longest window */ };

/* What Python only has to report, as RC_NOTE_... of native_endpoint.h. a: number of the message */
enum ring_note {
    RING_RECEIVED = 16, /* b: CRC-32 of its elements */
    RING_POSTED = 17,   /* b: messages received and, in the lower 32 bits, acknowledged so far */
    RING_ACKED = 18
};

/* RingSchedule of schedules.py. */
struct ring_schedule {
    const int32_t *steps;
    const int32_t *places;
    const int32_t *firsts;
    int64_t count;
};

/* The plan of a message of `length` bytes, but for its place and its number. */
struct ring_template {
    int64_t length;
    const struct rc_plan *plan;
};

struct ring_held {
    struct ring_schedule sends;
    struct ring_schedule receives;
    const int64_t *bounds; /* first and last-plus-one byte of each place */
    const uint8_t *gradient;
    uint8_t *result;
    uint8_t *slots;
    uint8_t *plans; /* of message m: at m mod window */
    const struct ring_template *templates;
    int64_t template_count;
    int64_t plan_bytes;
    int64_t slot_bytes;
    int64_t slot_count;
    int64_t peer_va;
    int64_t size; /* P */
    int64_t window;
    int64_t is_float;
    int64_t from; /* index of the queue pair that receives; the other one is the endpoint's sender */
    int64_t send_base;
    int64_t receive_base;
    /* Since the start of the iteration. */
    int64_t posted;
    int64_t acked;
    int64_t consumed;
    /* Since it was handed over. */
    int64_t closed;  /* messages that came */
    int64_t packets; /* that brought them */
    int64_t idle;    /* bytes of slots in front of the next one that hold nothing any more, and have memory */
    /* Outstanding messages: `room` of them, used from `first` on. */
    struct irn_message *messages;
    int64_t room;
    int64_t first;
    struct irn_entry *log;
    int64_t logged;
};

#endif
