/* What roce.h says, for a differential test against workloads.wire. */
#include "roce.h"

size_t probe_view_size(void) { return sizeof(struct roce_view); }

int probe_parse(const uint8_t *frame, size_t len, struct roce_view *view) { return (int)roce_parse(frame, len, view); }

uint32_t probe_icrc(const uint8_t *frame, size_t end) { return roce_icrc(frame, end); }

int probe_icrc_is_valid(const uint8_t *frame, size_t end) { return roce_icrc_is_valid(frame, end); }

int32_t probe_psn_diff(uint32_t a, uint32_t b) { return psn_diff(a, b); }

uint32_t probe_psn_add(uint32_t psn, int32_t n) { return psn_add(psn, n); }

void probe_round(const uint8_t *in, uint8_t *out)
{
    put16(out, get16(in));
    put24(out + 2, get24(in + 2));
    put32(out + 5, get32(in + 5));
    put64(out + 9, get64(in + 9));
    put32le(out + 17, get32le(in + 17));
}

int32_t probe_extension_bytes(uint8_t opcode) { return rc_extension_bytes(opcode); }
