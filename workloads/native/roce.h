/* RoCE v2 over plain Ethernet + IPv4 without options + UDP, for C fast paths. The layouts are made from those of
 * workloads/wire (wire_layout.h); the iCRC is that of workloads/wire/icrc.py (IBTA annex A17).
 * Anything but this plain case (IPv6, broken lengths, ...) is left to the Python codec: see roce_parse. */
#ifndef INA_ROCE_H
#define INA_ROCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crc.h"
#include "wire_layout.h"

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

enum { RC_WORD_BYTES = EXT_AT - BTH_ACK_REQ /* AckReq and PSN: all of a BTH that differs between equal packets */ };

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
    for (int i = 0; i < IP_BYTES; i += 2)
        if (i != IP_CHECKSUM - IP_AT)
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
    ip[BTH_RESV6 - IP_AT] = 0xFF; /* FECN and BECN, too */
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

/* Bytes of the extension headers of a SEND or WRITE of a reliable connection; -1 for all other opcodes. */
static inline int32_t rc_extension_bytes(uint8_t opcode)
{
    if (opcode > 31 || !(RC_DATA_OPCODES >> opcode & 1))
        return -1;
    return (RC_HAS_RETH >> opcode & 1) * RETH_BYTES + (RC_HAS_IMM >> opcode & 1) * IMM_BYTES
        + (RC_HAS_IETH >> opcode & 1) * IETH_BYTES;
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
    uint16_t type = get16(frame + ETH_ETHERTYPE);
    if (type == ETHERTYPE_V6 && frame[IP_AT] >> 4 == 6)
        return ROCE_ASK;
    if (type != ETHERTYPE_V4 || frame[IP_AT] != 0x45)
        return ROCE_NONE;
    if (len < EXT_AT + ICRC_BYTES)
        return ROCE_ASK;
    if (frame[IP_PROTOCOL] != PROTOCOL_UDP || get16(frame + IP_FLAGS_FRAGMENT) & 0x3FFF || get16(frame + UDP_DPORT) != ROCE_UDP_PORT)
        return ROCE_NONE;
    uint32_t end = UDP_AT + get16(frame + UDP_LENGTH);
    uint8_t pad = frame[BTH_PAD] >> BTH_PAD_SHIFT & BTH_PAD_MASK;
    if (end != IP_AT + (uint32_t)get16(frame + IP_LENGTH) || end > len || end < EXT_AT + ICRC_BYTES + (uint32_t)pad)
        return ROCE_ASK;
    if (get16(frame + IP_CHECKSUM) != ipv4_checksum(frame + IP_AT))
        return ROCE_ASK;
    view->end = end;
    view->src_ip = get32(frame + IP_SRC);
    view->dst_ip = get32(frame + IP_DST);
    view->qpn = get24(frame + BTH_DEST_QPN);
    view->psn = get24(frame + BTH_PSN);
    view->opcode = frame[BTH_OPCODE];
    view->pad = pad;
    view->ack_req = frame[BTH_ACK_REQ] >> BTH_ACK_REQ_SHIFT;
    view->becn = frame[BTH_BECN] >> BTH_BECN_SHIFT & BTH_BECN_MASK;
    return ROCE_PLAIN;
}

#endif
