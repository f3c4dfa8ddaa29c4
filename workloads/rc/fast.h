/* What fast.c works on: contexts of queue pairs, posted messages as plans. fast.py and send_plan.py lay them out. */
#ifndef INA_RC_FAST_H
#define INA_RC_FAST_H

#include <stddef.h>
#include <stdint.h>

enum { RC_ANSWERS = 64, RC_HEAD_BYTES = 72 /* Ethernet, IPv6, UDP, BTH to byte 7: 70 */ };

enum rc_arrival { RC_SHUT = 0, RC_BETWEEN = 1, RC_IN_WRITE = 2, RC_IN_SEND = 3 };

enum rc_flag { RC_OPENED = 1, RC_CLOSED = 2, RC_WITH_IMM = 4, RC_CLOSE_ANSWERED = 8 };

/* Memory that a peer may write. */
struct rc_region {
    uint64_t va;
    uint64_t bytes;
    uint8_t *memory;
    uint32_t rkey;
    uint32_t endless; /* known again and again behind its end */
};

/* The context of one queue pair: what plain packets to it look like, and what came of them. */
struct rc_qp_context {
    /* The responder; carried on here, and set anew after each step of the reference. */
    uint8_t *destination;   /* where the next payload goes */
    uint64_t left;          /* bytes of memory from there on */
    uint32_t arrival;       /* enum rc_arrival: no request is taken, between messages, in one */
    uint32_t receives;      /* posted */
    uint32_t psn;           /* expected */
    int32_t unacknowledged; /* packets accepted since the last answer */
    /* The connection. */
    uint32_t src_ip;
    uint32_t dst_ip;
    uint32_t qpn;
    uint32_t payload_bytes; /* path MTU */
    int32_t ack_every;
    uint32_t unused;
    /* The requester, before each call. */
    uint32_t una;      /* oldest unacknowledged PSN of what we send */
    int32_t in_flight; /* PSNs from there on that were sent */
    /* Out. */
    uint32_t acks;  /* how many ACKs came */
    int32_t newest; /* the PSN that reaches furthest, as a distance from una */
    uint32_t taken; /* how many requests were accepted */
    uint32_t flags; /* enum rc_flag: a message was opened, or closed */
    uint64_t placed; /* payload bytes */
    uint64_t va;     /* what the RETH of the opened one says */
    uint32_t rkey;
    uint32_t length;
    uint32_t imm;      /* of the closed one */
    uint32_t answered; /* how many ACKs are due */
    uint32_t answers[RC_ANSWERS]; /* their PSNs */
};

/* The packets of one opcode of a message, all of one size. */
struct rc_packet_head {
    uint32_t bytes;
    uint32_t state;
    uint8_t octets[RC_HEAD_BYTES];
};

struct rc_segment {
    const uint8_t *octets;
    uint64_t bytes; /* not 0 */
};

/* A posted message: everything that its packets are made of. */
struct rc_plan {
    uint64_t length;
    uint32_t packets;
    uint32_t payload_bytes; /* path MTU */
    uint32_t reth_bytes;    /* 16 for a WRITE, in the first packet */
    uint32_t imm_bytes;     /* 4 with immediate data, in the last packet */
    uint32_t reserved[2];
    uint8_t reth[16];
    uint8_t imm[4];
    uint8_t unused[4];
    struct rc_packet_head heads[3]; /* FIRST, MIDDLE, LAST; or the last one is ONLY */
    struct rc_segment segments[];   /* the gather list */
};

int rc_accept(const uint8_t *frames, size_t stride, const int32_t *lengths, int row, int rows,
              struct rc_qp_context *contexts, int context_count, const struct rc_region *regions, int region_count);
uint64_t rc_packet_bytes(const struct rc_plan *plan, uint32_t index);
int rc_emit(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
            const struct rc_plan *plan, uint32_t index, uint32_t psn, int since, int ack_every, int closes);
void rc_answer(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
               const uint8_t *octets, size_t octets_bytes, uint32_t state, const uint8_t *words, size_t body_bytes);

#endif
