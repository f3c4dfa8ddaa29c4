/* Where the fields of headers stand. ETH, IP, IP6, UDP and BTH: octets of a frame, UDP and BTH behind IPv4.
 * All others: octets of their header. A field that is no whole octets has a shift and a mask.
 * Made by `python -m tests.support.layouts` from the layouts in Python: change those. */
#ifndef INA_WIRE_LAYOUT_H
#define INA_WIRE_LAYOUT_H

enum {
    /* Ethernet: IEEE 802.3 */
    ETH_DST = 0,
    ETH_SRC = 6,
    ETH_ETHERTYPE = 12,
    ETH_BYTES = 14,
    IP_AT = 14,
    /* IPv4: RFC 791 */
    IP_VERSION = 14,
    IP_VERSION_SHIFT = 4, IP_VERSION_MASK = 0xf,
    IP_IHL = 14,
    IP_IHL_SHIFT = 0, IP_IHL_MASK = 0xf,
    IP_TOS = 15,
    IP_LENGTH = 16,
    IP_IDENT = 18,
    IP_FLAGS_FRAGMENT = 20,
    IP_TTL = 22,
    IP_PROTOCOL = 23,
    IP_CHECKSUM = 24,
    IP_SRC = 26,
    IP_DST = 30,
    IP_BYTES = 20,
    /* IPv6: RFC 8200 */
    IP6_VERSION = 14,
    IP6_VERSION_SHIFT = 4, IP6_VERSION_MASK = 0xf,
    IP6_TOS = 14,
    IP6_TOS_SHIFT = 4, IP6_TOS_MASK = 0xff,
    IP6_FLOW_LABEL = 15,
    IP6_FLOW_LABEL_SHIFT = 0, IP6_FLOW_LABEL_MASK = 0xfffff,
    IP6_LENGTH = 18,
    IP6_PROTOCOL = 20,
    IP6_TTL = 21,
    IP6_SRC = 22,
    IP6_DST = 38,
    IP6_BYTES = 40,
    UDP_AT = 34, UDP6_AT = 54,
    /* UDP: RFC 768 */
    UDP_SPORT = 34,
    UDP_DPORT = 36,
    UDP_LENGTH = 38,
    UDP_CHECKSUM = 40,
    UDP_BYTES = 8,
    BTH_AT = 42, BTH6_AT = 62,
    /* BTH: IBTA vol. 1, chapter 9 */
    BTH_OPCODE = 42,
    BTH_SOLICITED = 43,
    BTH_SOLICITED_SHIFT = 7, BTH_SOLICITED_MASK = 0x1,
    BTH_MIGREQ = 43,
    BTH_MIGREQ_SHIFT = 6, BTH_MIGREQ_MASK = 0x1,
    BTH_PAD = 43,
    BTH_PAD_SHIFT = 4, BTH_PAD_MASK = 0x3,
    BTH_TVER = 43,
    BTH_TVER_SHIFT = 0, BTH_TVER_MASK = 0xf,
    BTH_PKEY = 44,
    BTH_FECN = 46,
    BTH_FECN_SHIFT = 7, BTH_FECN_MASK = 0x1,
    BTH_BECN = 46,
    BTH_BECN_SHIFT = 6, BTH_BECN_MASK = 0x1,
    BTH_RESV6 = 46,
    BTH_RESV6_SHIFT = 0, BTH_RESV6_MASK = 0x3f,
    BTH_DEST_QPN = 47,
    BTH_ACK_REQ = 50,
    BTH_ACK_REQ_SHIFT = 7, BTH_ACK_REQ_MASK = 0x1,
    BTH_RESV7 = 50,
    BTH_RESV7_SHIFT = 0, BTH_RESV7_MASK = 0x7f,
    BTH_PSN = 51,
    BTH_BYTES = 12,
    EXT_AT = 54, /* extension headers, then the payload */
    /* RETH: IBTA vol. 1, chapter 9 */
    RETH_VA = 0,
    RETH_RKEY = 8,
    RETH_LENGTH = 12,
    RETH_BYTES = 16,
    /* ImmDt: IBTA vol. 1, chapter 9 */
    IMM_VALUE = 0,
    IMM_BYTES = 4,
    /* AETH: IBTA vol. 1, chapter 9 */
    AETH_SYNDROME = 0,
    AETH_MSN = 1,
    AETH_BYTES = 4,
    /* DETH: IBTA vol. 1, chapter 9 */
    DETH_QKEY = 0,
    DETH_RESV = 4,
    DETH_SOURCE_QPN = 5,
    DETH_BYTES = 8,
    /* AtomicETH: IBTA vol. 1, chapter 9 */
    ATOMIC_VA = 0,
    ATOMIC_RKEY = 8,
    ATOMIC_SWAP_ADD = 12,
    ATOMIC_COMPARE = 20,
    ATOMIC_BYTES = 28,
    /* AtomicAckETH: IBTA vol. 1, chapter 9 */
    ATOMIC_ACK_ORIGINAL = 0,
    ATOMIC_ACK_BYTES = 8,
    /* IETH: IBTA vol. 1, chapter 9 */
    IETH_RKEY = 0,
    IETH_BYTES = 4,
    /* SACK: decided here (docs/irn.md) */
    SACK_CUMULATIVE = 0,
    SACK_SELECTIVE = 4,
    SACK_BYTES = 8,
    /* map: decided here (docs/irn.md) */
    HELD_MAP_PACKETS = 0,
    HELD_MAP_FIRST = 1,
    HELD_MAP_NEWEST = 4,
    HELD_MAP_BITS = 8,
    HELD_MAP_BYTES = 16,
    HELD_MAP_MOST = 64, /* packets of a map */
    ICRC_BYTES = 4
};

enum {
    ETHERTYPE_V4 = 0x0800, ETHERTYPE_V6 = 0x86dd, PROTOCOL_UDP = 17,
    ROCE_UDP_PORT = 4791, PSN_MASK = 0xffffff, TRIMMED_DSCP = 11,
    SYNDROME_SEQUENCE = 0x60, SYNDROME_TRIMMED = 0x65
};
#define NO_PSN 0xffffffffu

enum {
    OPCODE_SEND_FIRST = 0x00,
    OPCODE_SEND_MIDDLE = 0x01,
    OPCODE_SEND_LAST = 0x02,
    OPCODE_SEND_LAST_IMM = 0x03,
    OPCODE_SEND_ONLY = 0x04,
    OPCODE_SEND_ONLY_IMM = 0x05,
    OPCODE_WRITE_FIRST = 0x06,
    OPCODE_WRITE_MIDDLE = 0x07,
    OPCODE_WRITE_LAST = 0x08,
    OPCODE_WRITE_LAST_IMM = 0x09,
    OPCODE_WRITE_ONLY = 0x0a,
    OPCODE_WRITE_ONLY_IMM = 0x0b,
    OPCODE_READ_REQUEST = 0x0c,
    OPCODE_READ_RESP_FIRST = 0x0d,
    OPCODE_READ_RESP_MIDDLE = 0x0e,
    OPCODE_READ_RESP_LAST = 0x0f,
    OPCODE_READ_RESP_ONLY = 0x10,
    OPCODE_ACKNOWLEDGE = 0x11,
    OPCODE_ATOMIC_ACK = 0x12,
    OPCODE_CMP_SWAP = 0x13,
    OPCODE_FETCH_ADD = 0x14,
    OPCODE_SEND_LAST_INV = 0x16,
    OPCODE_SEND_ONLY_INV = 0x17,
    OPCODE_UC_SEND_FIRST = 0x20,
    OPCODE_UC_SEND_MIDDLE = 0x21,
    OPCODE_UC_SEND_LAST = 0x22,
    OPCODE_UC_SEND_LAST_IMM = 0x23,
    OPCODE_UC_SEND_ONLY = 0x24,
    OPCODE_UC_SEND_ONLY_IMM = 0x25,
    OPCODE_UC_WRITE_FIRST = 0x26,
    OPCODE_UC_WRITE_MIDDLE = 0x27,
    OPCODE_UC_WRITE_LAST = 0x28,
    OPCODE_UC_WRITE_LAST_IMM = 0x29,
    OPCODE_UC_WRITE_ONLY = 0x2a,
    OPCODE_UC_WRITE_ONLY_IMM = 0x2b,
    OPCODE_UD_SEND_ONLY = 0x64,
    OPCODE_UD_SEND_ONLY_IMM = 0x65,
    OPCODE_CNP = 0x81,
    OPCODE_IRN_ANSWER = 0xc1,
    /* Sets of the SEND and WRITE opcodes of reliable connections: bit n is that of opcode n. */
    RC_DATA_OPCODES = 0xc00fff,
    RC_STARTS = 0x800c71, RC_ENDS = 0xc00f3c,
    RC_HAS_RETH = 0xc40,
    RC_HAS_IMM = 0xa28,
    RC_HAS_IETH = 0xc00000,
};

#endif
