/* RoCE v2 over plain Ethernet + IPv4 without options + UDP, for C fast paths. The layouts are those of
 * workloads/wire/envelope.py and headers.py; the iCRC is that of workloads/wire/icrc.py (IBTA annex A17).
 * Anything but this plain case (IPv6, broken lengths, ...) is left to the Python codec: see roce_parse. */
#ifndef INA_ROCE_H
#define INA_ROCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crc.h"

enum {
    ETH_DST = 0,
    ETH_SRC = 6,
    ETH_TYPE = 12,
    IP_AT = 14,
    IP_TOS = IP_AT + 1,
    IP_LENGTH = IP_AT + 2,
    IP_FLAGS_FRAGMENT = IP_AT + 6,
    IP_TTL = IP_AT + 8,
    IP_PROTOCOL = IP_AT + 9,
    IP_CHECKSUM = IP_AT + 10,
    IP_SRC = IP_AT + 12,
    IP_DST = IP_AT + 16,
    UDP_AT = IP_AT + 20,
    UDP_SPORT = UDP_AT,
    UDP_DPORT = UDP_AT + 2,
    UDP_LENGTH = UDP_AT + 4,
    UDP_CHECKSUM = UDP_AT + 6,
    BTH_AT = UDP_AT + 8,
    BTH_OPCODE = BTH_AT,
    BTH_FLAGS = BTH_AT + 1, /* SE:1 M:1 pad:2 tver:4 */
    BTH_PKEY = BTH_AT + 2,
    BTH_RESERVED = BTH_AT + 4, /* FECN:1 BECN:1 reserved:6, outside the iCRC */
    BTH_QPN = BTH_AT + 5,
    BTH_ACK_REQ = BTH_AT + 8, /* ack_req:1 reserved:7 */
    BTH_PSN = BTH_AT + 9,
    EXT_AT = BTH_AT + 12, /* extension headers, then the payload */
    ICRC_BYTES = 4,

    ETHERTYPE_V4 = 0x0800,
    ETHERTYPE_V6 = 0x86DD,
    ROCE_UDP_PORT = 4791,
    PSN_MASK = 0xFFFFFF
};

static inline uint16_t get16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t get24(const uint8_t *p) { return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]; }
static inline uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t get64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline uint32_t get32le(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }

static inline void put16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void put24(uint8_t *p, uint32_t v) { p[0] = (uint8_t)(v >> 16); put16(p + 1, (uint16_t)v); }
static inline void put32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }
static inline void put32le(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "loads and stores here are written for a little-endian machine; run the Python reference (INA_NATIVE=0)"
#endif

/* a - b on the circle of 2^24 PSNs, -2^23 .. 2^23-1 */
static inline int32_t psn_diff(uint32_t a, uint32_t b) { return (int32_t)((a - b) << 8) >> 8; }
static inline uint32_t psn_add(uint32_t psn, int32_t n) { return (psn + (uint32_t)n) & PSN_MASK; }

/* Internet checksum (RFC 1071) of the 20 bytes at `ip`, whose checksum field counts as zero. */
static inline uint16_t ipv4_checksum(const uint8_t *ip)
{
    uint32_t total = 0;
    for (int i = 0; i < 20; i += 2)
        if (i != 10)
            total += get16(ip + i);
    total = (total & 0xFFFF) + (total >> 16);
    total = (total & 0xFFFF) + (total >> 16);
    return (uint16_t)~total;
}

/* CRC state behind the masked headers up to and including the BTH: Ethernet frame of the plain case, >= EXT_AT bytes.
 * Continue it over everything from EXT_AT to the last pad byte with ina_crc32(). Fields that routers change count as ones. */
static inline uint32_t roce_icrc_headers(const uint8_t *frame)
{
    uint8_t masked[8 + EXT_AT - IP_AT];
    uint8_t *ip = masked + 8;
    memset(masked, 0xFF, 8);
    memcpy(ip, frame + IP_AT, EXT_AT - IP_AT);
    ip[IP_TOS - IP_AT] = 0xFF;
    ip[IP_TTL - IP_AT] = 0xFF;
    memset(ip + IP_CHECKSUM - IP_AT, 0xFF, 2);
    memset(ip + UDP_CHECKSUM - IP_AT, 0xFF, 2);
    ip[BTH_RESERVED - IP_AT] = 0xFF;
    return ina_crc32(0, masked, sizeof masked);
}

/* iCRC of a frame of the plain case. `end` is the byte behind its iCRC (roce_view.end; an Ethernet frame may be padded
 * beyond it), at least EXT_AT + ICRC_BYTES. Store with put32le(frame + end - ICRC_BYTES, ...). */
static inline uint32_t roce_icrc(const uint8_t *frame, size_t end)
{
    return ina_crc32(roce_icrc_headers(frame), frame + EXT_AT, end - ICRC_BYTES - EXT_AT);
}

static inline int roce_icrc_is_valid(const uint8_t *frame, size_t end)
{
    return get32le(frame + end - ICRC_BYTES) == roce_icrc(frame, end);
}

struct roce_view {
    uint32_t end;     /* byte behind the iCRC */
    uint32_t src_ip;  /* as a number, 10.0.0.1 = 0x0a000001 */
    uint32_t dst_ip;
    uint32_t qpn;     /* destination */
    uint32_t psn;
    uint8_t opcode;
    uint8_t pad;      /* the transport ends at end - ICRC_BYTES - pad, which is not before EXT_AT */
    uint8_t ack_req;
    uint8_t becn;
};

enum roce_class {
    ROCE_NONE = 0, /* decode_envelope gives None */
    ROCE_PLAIN = 1, /* decode_envelope accepts it, it holds BTH, pad and iCRC, and the view is filled in */
    ROCE_ASK = 2    /* IPv6, or something is wrong with it: ask the Python codec */
};

/* Does not look at the iCRC, nor at what the opcode demands behind the BTH. */
static inline enum roce_class roce_parse(const uint8_t *frame, size_t len, struct roce_view *view)
{
    if (len < IP_AT + 1)
        return ROCE_NONE;
    uint16_t type = get16(frame + ETH_TYPE);
    if (type == ETHERTYPE_V6 && frame[IP_AT] >> 4 == 6)
        return ROCE_ASK;
    if (type != ETHERTYPE_V4 || frame[IP_AT] != 0x45)
        return ROCE_NONE;
    if (len < EXT_AT + ICRC_BYTES)
        return ROCE_ASK;
    if (frame[IP_PROTOCOL] != 17 || get16(frame + IP_FLAGS_FRAGMENT) & 0x3FFF || get16(frame + UDP_DPORT) != ROCE_UDP_PORT)
        return ROCE_NONE;
    uint32_t end = UDP_AT + get16(frame + UDP_LENGTH);
    uint8_t pad = frame[BTH_FLAGS] >> 4 & 3;
    if (end != IP_AT + (uint32_t)get16(frame + IP_LENGTH) || end > len || end < EXT_AT + ICRC_BYTES + (uint32_t)pad)
        return ROCE_ASK;
    if (get16(frame + IP_CHECKSUM) != ipv4_checksum(frame + IP_AT))
        return ROCE_ASK;
    view->end = end;
    view->src_ip = get32(frame + IP_SRC);
    view->dst_ip = get32(frame + IP_DST);
    view->qpn = get24(frame + BTH_QPN);
    view->psn = get24(frame + BTH_PSN);
    view->opcode = frame[BTH_OPCODE];
    view->pad = pad;
    view->ack_req = frame[BTH_ACK_REQ] >> 7;
    view->becn = frame[BTH_RESERVED] >> 6 & 1;
    return ROCE_PLAIN;
}

#endif
