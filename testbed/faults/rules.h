/* One fault on one link direction as a flat value, and what the user-space screen and the eBPF program ask of it: does it
 * act now, does it mean this packet, does the dice strike. `identity.py`, `healing.py` and `matching.py` are the references;
 * `native.py` mirrors the struct. */
#ifndef INA_RULES_H
#define INA_RULES_H

#include "decide.h"

enum ina_kind {
    INA_BY_CHANCE = 0, /* the screen need know no more of it than its rate */
    INA_LOSS = 1,
    INA_BURST = 2,
    INA_DROP = 3,
    INA_CORRUPT = 4,
    INA_DUPLICATE = 5,
    INA_REORDER = 6,
    INA_DELAY = 7,
    INA_ECN_MARK = 8,
    INA_LINK_DOWN = 9,
    INA_FORGE = 10,
};

enum ina_condition {
    INA_IF_OPCODE = 1,
    INA_IF_SYNDROME = 2,
    INA_IF_ATTEMPT = 4,
    INA_IF_OFFSET = 8,
    INA_IF_RANK = 16,
    INA_IF_MESSAGE = 32, /* message or packet of a message: only Python can tell */
    INA_IF_HEADER = 64,  /* kind or number of a datagram: only Python can tell */
};

#define INA_BIT_BY_HASH 0xffffffffu
#define INA_FOREVER 0x7fffffffffffffffll /* stop_ns of a rule that acts until the end */

struct ina_rule {
    __u64 stream;
    __u64 chance;    /* threshold of the rate; of a burst: to enter the bad state */
    __u64 recover;
    __u64 loss_bad;
    __u64 loss_good;
    __u64 opcodes[4]; /* bit set over the opcode */
    __s64 start_ns;
    __s64 stop_ns;   /* the largest number: until the end */
    __u64 period_ns;
    __u32 kind;
    __u32 conditions;
    __u32 flaps;
    __u32 attempt;
    __u32 psn_offset;
    __u32 syndrome;
    __u32 source_rank;
    __u32 bit;
    __u32 copy_bit;
    __u32 udp_port; /* of datagrams that a match may name; 0: none */
};

struct ina_connection {
    __u32 rank;
    __u32 first_psn;
};

struct ina_packet {
    __u64 flow;
    __u64 key;
    __u32 roce;
    __u32 udp_port; /* of a datagram over IPv4 that is no fragment; else 0 */
    __u32 opcode;
    __u32 psn;
    __u32 syndrome;
    __u32 qpn;
    __u32 transport_at;
    __u32 end;
    __u32 src[4]; /* IPv4: only [0]; host order */
    __u32 dst[4];
};

#define INA_HEAD_V6 (BTH6_AT + BTH_BYTES + AETH_BYTES) /* all that ina_parse reads */

INA_INLINE __u32 ina_be16(const __u8 *at)
{
    return (__u32)at[0] << 8 | at[1];
}

INA_INLINE __u32 ina_be24(const __u8 *at)
{
    return (__u32)at[0] << 16 | (__u32)at[1] << 8 | at[2];
}

INA_INLINE __u32 ina_be32(const __u8 *at)
{
    return (__u32)at[0] << 24 | ina_be24(at + 1);
}

/* UDP and BTH behind the IP header. `udp` and `at` are constants where this is called, as the verifier wants. */
INA_INLINE int ina_parse_transport(const __u8 *head, __u32 udp, __u32 ip_bytes, __u32 size, struct ina_packet *packet)
{
    const __u8 *v4 = head + udp - UDP_AT; /* where the frame would begin with IPv4 */
    __u32 at = udp + UDP_BYTES, udp_length = ina_be16(v4 + UDP_LENGTH), end = udp + udp_length;

    if (ina_be16(v4 + UDP_DPORT) != ROCE_UDP_PORT || ip_bytes != udp_length || end > size
        || udp_length < UDP_BYTES + BTH_BYTES + ICRC_BYTES)
        return 0;
    packet->roce = 1;
    packet->opcode = v4[BTH_OPCODE];
    packet->qpn = ina_be24(v4 + BTH_DEST_QPN);
    packet->psn = ina_be24(v4 + BTH_PSN);
    packet->transport_at = at;
    packet->end = end;
    packet->syndrome = packet->opcode == OPCODE_ACKNOWLEDGE && end >= at + BTH_BYTES + AETH_BYTES + ICRC_BYTES
                           ? v4[EXT_AT + AETH_SYNDROME] : 0;
    return 1;
}

/* False when the frame is not RoCE v2: the caller then sets `flow` by ina_frame_key. `head` holds INA_HEAD_V6 bytes, zeros
 * behind the frame's end; `size` is the frame's. */
INA_INLINE int ina_parse(const __u8 *head, __u32 size, struct ina_packet *packet)
{
    __u32 ethertype, i;

    packet->roce = packet->udp_port = 0;
    packet->opcode = packet->psn = packet->syndrome = packet->qpn = 0;
    packet->transport_at = 0;
    packet->end = size;
    if (size < BTH_AT)
        return 0;
    ethertype = ina_be16(head + ETH_ETHERTYPE);
    if (ethertype == ETHERTYPE_V4 && head[IP_AT] == 0x45 && head[IP_PROTOCOL] == PROTOCOL_UDP
        && !(ina_be16(head + IP_FLAGS_FRAGMENT) & 0x3fff))
        packet->udp_port = ina_be16(head + UDP_DPORT);
    if (size < EXT_AT)
        return 0;
    if (ethertype == ETHERTYPE_V4 && head[IP_AT] == 0x45) {
        if (head[IP_PROTOCOL] != PROTOCOL_UDP || (ina_be16(head + IP_FLAGS_FRAGMENT) & 0x3fff))
            return 0;
        if (!ina_parse_transport(head, UDP_AT, ina_be16(head + IP_LENGTH) - IP_BYTES, size, packet))
            return 0;
        packet->src[0] = ina_be32(head + IP_SRC);
        packet->dst[0] = ina_be32(head + IP_DST);
        for (i = 1; i < 4; i++)
            packet->src[i] = packet->dst[i] = 0;
        packet->flow = ina_flow_v4(packet->src[0], packet->dst[0], packet->qpn);
    } else if (ethertype == ETHERTYPE_V6 && head[IP_AT] >> 4 == 6 && size >= BTH6_AT + BTH_BYTES) {
        if (head[IP6_PROTOCOL] != PROTOCOL_UDP
            || !ina_parse_transport(head, UDP6_AT, ina_be16(head + IP6_LENGTH), size, packet))
            return 0;
        for (i = 0; i < 4; i++) {
            packet->src[i] = ina_be32(head + IP6_SRC + 4 * i);
            packet->dst[i] = ina_be32(head + IP6_DST + 4 * i);
        }
        packet->flow = ina_flow_v6((__u64)packet->src[0] << 32 | packet->src[1],
                                   (__u64)packet->src[2] << 32 | packet->src[3],
                                   (__u64)packet->dst[0] << 32 | packet->dst[1],
                                   (__u64)packet->dst[2] << 32 | packet->dst[3], packet->qpn);
    } else {
        return 0;
    }
    packet->key = ina_absorb(packet->flow, ina_packet_word(packet->opcode, packet->psn, packet->syndrome));
    return 1;
}

INA_INLINE void ina_not_roce(struct ina_packet *packet, __u32 crc32, __u32 size)
{
    packet->flow = ina_frame_key(crc32, size);
    packet->key = ina_absorb(packet->flow, 0);
}

INA_INLINE int ina_rule_acts(const struct ina_rule *rule, __s64 now)
{
    __u64 since, length, turn;

    if (now < rule->start_ns)
        return 0;
    if (rule->stop_ns == INA_FOREVER)
        return 1;
    since = now - rule->start_ns;
    length = rule->stop_ns - rule->start_ns;
    if (rule->flaps > 1 && rule->period_ns > 0) {
        turn = since / rule->period_ns;
        if (turn > rule->flaps - 1)
            turn = rule->flaps - 1;
        since -= turn * rule->period_ns;
    }
    return since < length;
}

/* Whether the rule means the packet, as far as C can tell (INA_IF_MESSAGE and INA_IF_HEADER count as held). `connection`
 * may be null. */
INA_INLINE int ina_rule_means(const struct ina_rule *rule, const struct ina_packet *packet, __u32 occurrence,
                              const struct ina_connection *connection)
{
    __u32 conditions = rule->conditions;

    if (!packet->roce) {
        if (packet->udp_port && packet->udp_port == rule->udp_port) {
            conditions &= ~INA_IF_HEADER;
            if (conditions == INA_IF_ATTEMPT && occurrence == rule->attempt)
                conditions = 0;
        }
        return !conditions && rule->kind != INA_CORRUPT && rule->kind != INA_ECN_MARK;
    }
    if (conditions & INA_IF_HEADER)
        return 0;
    if ((conditions & INA_IF_OPCODE) && !(rule->opcodes[packet->opcode >> 6 & 3] >> (packet->opcode & 63) & 1))
        return 0;
    if ((conditions & INA_IF_SYNDROME) &&
        (packet->opcode != OPCODE_ACKNOWLEDGE || packet->syndrome != rule->syndrome))
        return 0;
    if ((conditions & INA_IF_ATTEMPT) && occurrence != rule->attempt)
        return 0;
    if (conditions & (INA_IF_OFFSET | INA_IF_RANK)) {
        if (!connection)
            return 0;
        if ((conditions & INA_IF_RANK) && connection->rank != rule->source_rank)
            return 0;
        if ((conditions & INA_IF_OFFSET) &&
            ((packet->psn - connection->first_psn) & PSN_MASK) != (rule->psn_offset & PSN_MASK))
            return 0;
    }
    return 1;
}

/* The dice of every kind but INA_BURST, which has a walk before it. */
INA_INLINE int ina_rule_strikes(const struct ina_rule *rule, const struct ina_packet *packet, __u32 occurrence,
                                __u32 copy)
{
    if (rule->kind == INA_LINK_DOWN)
        return 1;
    return ina_below(ina_draw(rule->stream, packet->key, occurrence, copy, INA_STRIKE), rule->chance);
}

INA_INLINE int ina_burst_loses(const struct ina_rule *rule, const struct ina_packet *packet, __u32 occurrence,
                               __u32 copy, int bad)
{
    return ina_below(ina_draw(rule->stream, packet->key, occurrence, copy, INA_BURST_LOSS),
                     bad ? rule->loss_bad : rule->loss_good);
}

#endif
