// An aggregation card for one ring of int32 sums over IPv4, written after docs/bring-your-own-fpga.md; gaps that this
// showed in that contract are filled. Its author also knew the register file and the reference program. It describes
// behaviour: one frame at a time, all of its work in one clock. It is here to be judged, and for no FPGA.
module plain_card (
    input wire clk, input wire rst,
    input wire [3:0] s_tvalid, output wire [3:0] s_tready, input wire [3:0] s_tlast,
    input wire [255:0] s_tdata, input wire [31:0] s_tkeep,
    output wire [3:0] m_tvalid, input wire [3:0] m_tready, output wire [3:0] m_tlast,
    output wire [255:0] m_tdata, output wire [31:0] m_tkeep,
    input wire stb, input wire we, output reg ack, input wire [31:0] adr, input wire [31:0] dat_w,
    output reg [31:0] dat_r, input wire [255:0] hash, output wire idle
);
    localparam PORTS = 4, MEMBERS = 4, SLOTS = 1024, WINDOW = 8, MACS = 16, LEARNT = 64, PLAIN = 16, MTU = 1024;
    localparam ROOM = 2048, HEAD = 128, QUEUE = 4096, ENTRIES = 2 * WINDOW + 1;
    localparam C_IN = 0, C_OUT = 1, C_STOPPED = 2, C_DATA = 3, C_RESULTS = 4, C_REPLAYED = 6, C_INFERRED = 7,
        C_BYPASSED = 8, C_FORWARDED = 9, C_FLOODED = 10, C_FILTERED = 11, C_RUNT = 12, C_ICRC = 13, C_NOFIRST = 14,
        C_DUPLICATE = 15, C_STALE = 16, C_STALE_FORWARDED = 17, C_OVERRUN = 18, C_MISMATCH = 19, C_LENGTH = 20,
        C_BAD_FIRST = 21, C_MALFORMED = 22, C_WRONG_PORT = 23, C_TRIMMED = 27, COUNTERS = 28;

    // Checks.
    function [31:0] crc_byte(input [31:0] given, input [7:0] value);
        integer at;
        begin
            crc_byte = given ^ {24'd0, value};
            for (at = 0; at < 8; at = at + 1)
                crc_byte = crc_byte[0] ? (crc_byte >> 1) ^ 32'hEDB88320 : crc_byte >> 1;
        end
    endfunction
    function [31:0] crc_word(input [31:0] given, input [31:0] word);
        crc_word = crc_byte(crc_byte(crc_byte(crc_byte(given, word[7:0]), word[15:8]), word[23:16]), word[31:24]);
    endfunction

    // Registers. Two banks of 1024 words: 0 the switch, 64 MAC table, 256 ring, 512 members.
    reg [31:0] staged [0:1023];
    reg [31:0] active [0:1023];
    reg [31:0] echo, bank, expected, error, error_address, commands, boots, applied, latches;
    reg [31:0] read_crc, staged_crc, active_crc;
    reg configured, running, served;
    reg [63:0] count [0:COUNTERS-1];
    reg [63:0] copied [0:COUNTERS-1];

    function [10:0] place_of(input [31:0] a);  // bit 10: a word of the banks is there
        begin
            place_of = 0;
            if (a >= 'h1000 && a < 'h1040) place_of = {1'b1, 6'd0, a[5:2]};
            else if (a >= 'h2000 && a < 'h2000 + 16 * MACS && a[3:2] != 3) place_of = {1'b1, 4'd1, a[7:2]};
            else if (a >= 'h8000 && a < 'h8060 && a != 'h803C) place_of = {1'b1, 4'd4, a[7:2]};
            else if (a >= 'h8800 && a < 'h8800 + 64 * MEMBERS && a[5:0] < 'h28) place_of = {1'b1, 4'd8, a[7:2]};
        end
    endfunction
    wire [10:0] place = place_of(adr);
    wire is_qpn = adr >= 'h8800 && adr < 'h8800 + 64 * MEMBERS && adr[5:0] == 'h28;
    wire [15:0] status = {13'd0, running, configured, 1'b1};

    // The ring.
    wire [15:0] L = active[259][15:0];
    wire [31:0] N = active[260];
    wire [31:0] P = active[264];
    reg [39:0] tag [0:SLOTS-1];
    reg [MEMBERS-1:0] bitmap [0:SLOTS-1];
    reg [MEMBERS-1:0] released [0:SLOTS-1];
    reg done [0:SLOTS-1];
    reg marked [0:SLOTS-1];
    integer size [0:SLOTS-1];
    reg [7:0] header [0:SLOTS*MEMBERS*HEAD-1];
    integer header_size [0:SLOTS*MEMBERS-1];
    reg [7:0] payload [0:SLOTS*MEMBERS*MTU-1];
    reg [7:0] value [0:SLOTS*MTU-1];
    reg [39:0] bank_message [0:2*WINDOW-1];
    reg bank_known [0:2*WINDOW-1];
    integer bank_packets [0:2*WINDOW-1];
    reg [24:0] qpn [0:MEMBERS-1];  // bit 24: known
    reg [39:0] newest [0:MEMBERS-1];
    reg any [0:MEMBERS-1];  // `newest` is one
    reg [24:0] plain_from [0:MEMBERS-1];
    reg [24:0] plain_to [0:MEMBERS-1];
    reg [39:0] entry_message [0:MEMBERS*ENTRIES-1];
    reg entry_known [0:MEMBERS*ENTRIES-1];
    reg [23:0] entry_psn [0:MEMBERS*ENTRIES-1];
    integer entry_packets [0:MEMBERS*ENTRIES-1];
    reg [39:0] head_message;
    integer head_offset;

    // Forwarding.
    reg [47:0] learnt_mac [0:LEARNT-1];
    reg [1:0] learnt_port [0:LEARNT-1];
    integer learnt;
    reg [87:0] plain [0:PLAIN-1];
    integer plains, plain_next;

    // A frame, and what leaves because of it.
    localparam S_IDLE = 0, S_IN = 1, S_WORK = 2, S_BUILD = 3, S_OUT = 4;
    reg [2:0] state;
    reg [1:0] port;
    reg [7:0] frame [0:ROOM-1];
    integer n;
    reg [7:0] out [0:ROOM-1];
    integer out_size, out_at;
    reg [1:0] out_port;
    reg [1:0] queue_port [0:QUEUE-1];
    reg queue_sum [0:QUEUE-1];
    integer queue_slot [0:QUEUE-1];
    reg [1:0] queue_rank [0:QUEUE-1];
    integer queued, sent;
    reg [63:0] beat;
    reg [7:0] keep;
    reg last;

    assign s_tready = state == S_IN ? 4'd1 << port : 4'd0;
    assign m_tvalid = state == S_OUT ? 4'd1 << out_port : 4'd0;
    assign m_tlast = {4{last}};
    assign m_tdata = {4{beat}};
    assign m_tkeep = {4{keep}};
    assign idle = state == S_IDLE && !(|s_tvalid);

    integer i, j, k, at, slot, offset, packets, elements, elements_size, total, found;
    reg [39:0] message;
    reg [31:0] crc, wanted, sum;
    reg [23:0] psn, distance;
    reg [15:0] length;
    reg [47:0] mac;
    reg [7:0] opcode, octet;
    reg [3:0] mask;
    reg starts, ends, known, good, matched, inferring, ina, static_found, aggregates;
    reg [23:0] dqpn;
    reg [39:0] other;

    function [23:0] minus(input [23:0] a, input [23:0] b);
        minus = a - b;
    endfunction
    function integer slot_of(input [39:0] m, input integer o);
        slot_of = (m % (2 * N)) * L + o;
    endfunction
    function integer packets_of(input [39:0] m);
        packets_of = bank_known[m % (2 * N)] && bank_message[m % (2 * N)] == m ? bank_packets[m % (2 * N)] : 0;
    endfunction
    function integer entry_of(input integer rank, input [39:0] m);  // -1: not in the table
        begin
            entry_of = rank * ENTRIES + m % (2 * N + 1);
            if (!entry_known[entry_of] || entry_message[entry_of] != m) entry_of = -1;
        end
    endfunction
    function in_plain(input integer rank, input [23:0] p);
        in_plain = plain_from[rank][24] && !(minus(p, plain_from[rank][23:0]) >> 23)
            && (!plain_to[rank][24] || minus(p, plain_to[rank][23:0]) >> 23);
    endfunction

    task push(input [1:0] to, input is_sum, input integer of_slot, input integer of_rank);
        begin
            queue_port[queued] = to;
            queue_sum[queued] = is_sum;
            queue_slot[queued] = of_slot;
            queue_rank[queued] = of_rank[1:0];
            queued = queued + 1;
        end
    endtask

    task forward;  // the frame as it is
        begin
            if (n < 14) count[C_RUNT] = count[C_RUNT] + 1;
            else begin
                mac = {frame[6], frame[7], frame[8], frame[9], frame[10], frame[11]};
                good = !frame[6][0] && (active[11][0] || active[12][port]);
                for (i = 0; i < active[14]; i = i + 1)
                    if ({active[64 + 4 * i][15:0], active[65 + 4 * i]} == mac) good = 0;
                found = -1;
                for (i = 0; i < learnt; i = i + 1) if (learnt_mac[i] == mac) found = i;
                if (good && found >= 0) learnt_port[found] = port;
                else if (good && learnt < LEARNT) begin
                    learnt_mac[learnt] = mac;
                    learnt_port[learnt] = port;
                    learnt = learnt + 1;
                end
                mac = {frame[0], frame[1], frame[2], frame[3], frame[4], frame[5]};
                found = -1;
                for (i = 0; i < learnt; i = i + 1) if (learnt_mac[i] == mac) found = learnt_port[i];
                for (i = 0; i < active[14]; i = i + 1)
                    if ({active[64 + 4 * i][15:0], active[65 + 4 * i]} == mac) found = active[66 + 4 * i];
                if ((found == port && !active[10][0]) || mac[47:4] == 44'h0180C200000) count[C_FILTERED] = count[C_FILTERED] + 1;
                else if (found >= 0) begin
                    count[C_FORWARDED] = count[C_FORWARDED] + 1;
                    push(found[1:0], 0, 0, 0);
                end else if (!(active[11][0] || active[12][port])) count[C_FILTERED] = count[C_FILTERED] + 1;
                else begin
                    count[C_FLOODED] = count[C_FLOODED] + 1;
                    for (i = 0; i < PORTS; i = i + 1)
                        if (i != port && (active[11][0] || active[12][i])) push(i[1:0], 0, 0, 0);
                end
            end
        end
    endtask

    task bypass;
        begin
            count[C_BYPASSED] = count[C_BYPASSED] + 1;
            forward;
        end
    endtask

    task send_result(input integer rank, input integer of_slot);
        begin
            count[C_RESULTS] = count[C_RESULTS] + 1;
            push(active[512 + 16 * ((rank + 1) % P) + 1][1:0], 1, of_slot, rank);
        end
    endtask

    task release_slot(input integer of_slot, input [3:0] where);
        integer rank;
        begin
            for (rank = 0; rank < P; rank = rank + 1)
                if (where[rank] && !released[of_slot][rank]) send_result(rank, of_slot);
            released[of_slot] = released[of_slot] | where;
        end
    endtask

    task early;  // into `mask`: connections on which slots behind the hole leave
        begin
            slot = slot_of(head_message, head_offset);
            mask = (1 << P) - 1;
            if (!active[8][0] && tag[slot] == head_message) mask = mask & ~bitmap[slot];
        end
    endtask

    task complete;  // of (message, offset), which is in `slot`
        integer mine, position, before_slot, behind;
        reg going;
        begin
            mine = slot;
            for (i = 0; i < size[mine]; i = i + 4) begin
                sum = 0;
                for (j = 0; j < P; j = j + 1) begin
                    at = (mine * MEMBERS + j) * MTU + i;
                    sum = sum + {payload[at + 3], payload[at + 2], payload[at + 1], payload[at]};
                end
                {value[mine * MTU + i + 3], value[mine * MTU + i + 2], value[mine * MTU + i + 1], value[mine * MTU + i]} = sum;
            end
            done[mine] = 1;
            if (message >= N)
                for (position = offset; position < (offset == packets_of(message) - 1 ? L : offset + 1); position = position + 1) begin
                    before_slot = slot_of(message - N, position);
                    if (tag[before_slot] == message - N) begin
                        tag[before_slot] = tag[before_slot] + 2 * N;
                        bitmap[before_slot] = 0;
                        released[before_slot] = 0;
                        done[before_slot] = 0;
                        marked[before_slot] = 0;
                        size[before_slot] = 0;
                    end
                end
            if (message != head_message || offset != head_offset) begin
                early;
                release_slot(mine, mask);
            end else begin
                going = 1;
                while (going) begin
                    slot = slot_of(head_message, head_offset);
                    going = done[slot] && tag[slot] == head_message;
                    if (going) begin
                        release_slot(slot, (1 << P) - 1);
                        head_offset = head_offset + 1;
                        if (head_offset >= packets_of(head_message)) begin
                            head_message = head_message + 1;
                            head_offset = 0;
                        end
                    end
                end
                early;
                behind = head_offset + 1;
                for (other = head_message; other < head_message + 2 * N; other = other + 1) begin
                    for (position = behind; position < packets_of(other); position = position + 1) begin
                        slot = slot_of(other, position);
                        if (done[slot] && tag[slot] == other) release_slot(slot, mask);
                    end
                    behind = 0;
                end
            end
        end
    endtask

    task aggregate;  // of connection k; `inferring` or `starts`: the message becomes known
        begin
            elements = at + (offset == 0 ? 16 : 0);
            elements_size = total - elements;
            slot = slot_of(message, offset);
            known = qpn[k] == {1'b1, dqpn};
            if (message > tag[slot]) count[C_OVERRUN] = count[C_OVERRUN] + 1;
            else if (message < tag[slot]) begin
                if (known && message + N < head_message) begin
                    count[C_STALE_FORWARDED] = count[C_STALE_FORWARDED] + 1;
                    forward;
                end else count[C_STALE] = count[C_STALE] + 1;
            end else begin
                if (starts || inferring) begin
                    if (inferring) count[C_INFERRED] = count[C_INFERRED] + 1;
                    if (!known) begin
                        qpn[k] = {1'b1, dqpn};
                        any[k] = 0;
                        plain_from[k] = 0;
                        plain_to[k] = 0;
                        for (i = 0; i < ENTRIES; i = i + 1) entry_known[k * ENTRIES + i] = 0;
                    end
                    i = message % (2 * N);
                    if (!bank_known[i] || bank_message[i] != message) begin
                        bank_known[i] = 1;
                        bank_message[i] = message;
                        bank_packets[i] = packets;
                    end
                    i = k * ENTRIES + message % (2 * N + 1);
                    if (!entry_known[i] || entry_message[i] < message) begin
                        entry_known[i] = 1;
                        entry_message[i] = message;
                        entry_psn[i] = psn - offset;
                        entry_packets[i] = packets;
                        if (!any[k] || message > newest[k]) begin
                            any[k] = 1;
                            newest[k] = message;
                            if (plain_from[k][24] && !plain_to[k][24]) plain_to[k] = {1'b1, minus(psn, offset)};
                        end
                    end
                end
                good = elements_size >= 0 && elements_size <= active[261] && elements_size % 4 == 0 && frame[43][5:4] == 0;
                if (!good || (bitmap[slot] != 0 && elements_size != size[slot])) count[C_LENGTH] = count[C_LENGTH] + 1;
                else begin
                    good = 1;
                    if (bitmap[slot][k] && !released[slot][k])
                        for (i = 0; i < elements_size; i = i + 1)
                            if (payload[(slot * MEMBERS + k) * MTU + i] != frame[elements + i]) good = 0;
                    if (!good) count[C_MISMATCH] = count[C_MISMATCH] + 1;
                    else begin
                        for (i = 0; i < elements; i = i + 1) header[(slot * MEMBERS + k) * HEAD + i] = frame[i];
                        header_size[slot * MEMBERS + k] = elements;
                        if (bitmap[slot][k] && released[slot][k]) begin
                            count[C_REPLAYED] = count[C_REPLAYED] + 1;
                            send_result(k, slot);
                        end else if (bitmap[slot][k]) count[C_DUPLICATE] = count[C_DUPLICATE] + 1;
                        else begin
                            for (i = 0; i < elements_size; i = i + 1) payload[(slot * MEMBERS + k) * MTU + i] = frame[elements + i];
                            size[slot] = elements_size;
                            bitmap[slot][k] = 1;
                            if (frame[15][1:0] == 3) marked[slot] = 1;
                            if (bitmap[slot] == (1 << P) - 1) complete;
                        end
                    end
                end
            end
        end
    endtask

    task begin_message;  // a FIRST or ONLY on connection k
        begin
            matched = 0;
            if (known)
                for (i = k * ENTRIES; i < (k + 1) * ENTRIES; i = i + 1)
                    if (entry_known[i] && minus(psn, entry_psn[i]) < entry_packets[i]) matched = 1;
            ina = total - at >= 16 && frame[at] == 'hA7 && frame[at + 1] == 1 && frame[at + 3][0]
                && {frame[at + 4], frame[at + 5]} == active[256][15:0]
                && {frame[at + 14], frame[at + 6]} == active[512 + 16 * k][15:0]
                && {frame[at + 15], frame[at + 7]} == P[15:0];
            if (!ina && matched) count[C_BAD_FIRST] = count[C_BAD_FIRST] + 1;
            else if (!ina) begin
                if (known && !in_plain(k, psn)) begin
                    plain_from[k] = {1'b1, psn};
                    plain_to[k] = 0;
                end
                if (!known) begin
                    good = 0;
                    for (i = 0; i < plains; i = i + 1) if (plain[i] == {wanted, crc, dqpn}) good = 1;
                    if (!good) begin
                        plain[plain_next] = {wanted, crc, dqpn};
                        plain_next = (plain_next + 1) % PLAIN;
                        if (plains < PLAIN) plains = plains + 1;
                    end
                end
                bypass;
            end else begin
                message = {8'd0, frame[at + 8], frame[at + 9], frame[at + 10], frame[at + 11]};
                packets = {16'd0, frame[at + 12], frame[at + 13]};
                offset = 0;
                good = frame[at + 2] == {active[257][3:0], active[258][3:0]} && packets >= 1 && packets <= L
                    && ends == (packets == 1) && (packets_of(message) == 0 || packets_of(message) == packets);
                if (good && known) begin
                    i = entry_of(k, message);
                    if (i >= 0 && (entry_psn[i] != psn || entry_packets[i] != packets)) good = 0;
                    if (any[k]) begin
                        i = entry_of(k, newest[k]);
                        distance = minus(psn, entry_psn[i]);
                        if (i >= 0 && (distance != 0 && !distance[23]) != (message > newest[k])) good = 0;
                    end
                    if (!plain_from[k][24]) begin
                        i = message == 0 ? -1 : entry_of(k, message - 1);
                        if (i >= 0 && minus(psn, entry_packets[i]) != entry_psn[i]) good = 0;
                        i = entry_of(k, message + 1);
                        if (i >= 0 && minus(entry_psn[i], packets) != psn) good = 0;
                    end
                end
                if (!good) count[C_BAD_FIRST] = count[C_BAD_FIRST] + 1;
                else aggregate;
            end
        end
    endtask

    task go_on;  // another packet on connection k
        begin
            matched = 0;
            for (i = k * ENTRIES; i < (k + 1) * ENTRIES; i = i + 1)
                if (known && !matched && entry_known[i] && minus(psn, entry_psn[i]) < entry_packets[i]) begin
                    matched = 1;
                    message = entry_message[i];
                    offset = minus(psn, entry_psn[i]);
                    packets = entry_packets[i];
                end
            good = 0;
            for (i = 0; i < plains; i = i + 1) if (plain[i] == {wanted, crc, dqpn}) good = 1;
            if (!known && good) bypass;
            else if (!known) count[C_NOFIRST] = count[C_NOFIRST] + 1;
            else if (!matched && in_plain(k, psn)) bypass;
            else begin
                if (!matched && any[k] && !plain_from[k][24]) begin
                    i = entry_of(k, newest[k]);
                    if (i >= 0) begin
                        distance = psn - entry_psn[i] - entry_packets[i];
                        message = newest[k] + 1;
                        packets = packets_of(message);
                        offset = distance;
                        inferring = distance < packets;
                    end
                end
                if (!matched && !inferring) count[C_NOFIRST] = count[C_NOFIRST] + 1;
                else if (offset == 0 || ends != (offset == packets - 1)) count[C_MALFORMED] = count[C_MALFORMED] + 1;
                else aggregate;
            end
        end
    endtask

    task work;
        begin
            count[C_IN] = count[C_IN] + 1;
            queued = 0;
            sent = 0;
            inferring = 0;
            aggregates = 0;
            if (!running) count[C_STOPPED] = count[C_STOPPED] + 1;
            else begin
                // 1. RoCE v2 over plain IPv4, with right lengths and header checksum?
                length = {frame[38], frame[39]};
                total = 34 + length;
                good = n >= 58 && {frame[12], frame[13]} == 'h0800 && frame[14] == 'h45 && frame[23] == 17
                    && ({frame[20], frame[21]} & 'h3FFF) == 0 && {frame[36], frame[37]} == 4791
                    && total == 14 + {16'd0, frame[16], frame[17]} && total <= n && total >= 54;
                sum = 0;
                for (i = 14; i < 34; i = i + 2) sum = sum + {16'd0, frame[i], frame[i + 1]};
                sum = sum[15:0] + sum[31:16];
                sum = sum[15:0] + sum[31:16];
                opcode = frame[42];
                good = good && sum == 'hFFFF && (opcode < 'h0C || opcode == 'h16 || opcode == 'h17);
                k = -1;
                wanted = {frame[26], frame[27], frame[28], frame[29]};
                crc = {frame[30], frame[31], frame[32], frame[33]};
                for (i = 0; i < P; i = i + 1)
                    if (good && active[15] == 1 && active[512 + 16 * i + 2] == wanted
                        && active[512 + 16 * ((i + 1) % P) + 2] == crc) k = i;
                if (k < 0) bypass;
                else if (active[512 + 16 * k + 1] != port) begin
                    count[C_DATA] = count[C_DATA] + 1;
                    count[C_WRONG_PORT] = count[C_WRONG_PORT] + 1;
                end else aggregates = 1;
            end
            if (aggregates) begin
                // 2. iCRC, lengths
                sum = 32'hFFFFFFFF;
                for (i = 0; i < 8; i = i + 1) sum = crc_byte(sum, 8'hFF);
                for (i = 14; i < total - 4; i = i + 1) begin
                    octet = frame[i];
                    if (i == 15 || i == 22 || i == 24 || i == 25 || i == 40 || i == 41 || i == 46) octet = 'hFF;
                    sum = crc_byte(sum, octet);
                end
                sum = ~sum ^ {frame[total - 1], frame[total - 2], frame[total - 3], frame[total - 4]};
                at = 54 + (opcode == 'h06 || opcode == 'h0A || opcode == 'h0B ? 16 : 0)
                    + (opcode == 'h03 || opcode == 'h05 || opcode == 'h09 || opcode == 'h0B || opcode >= 'h16 ? 4 : 0);
                total = total - 4 - frame[43][5:4];
                starts = opcode == 'h00 || opcode == 'h04 || opcode == 'h05 || opcode == 'h06 || opcode == 'h0A
                    || opcode == 'h0B || opcode == 'h17;
                ends = opcode != 'h00 && opcode != 'h01 && opcode != 'h06 && opcode != 'h07;
                dqpn = {frame[47], frame[48], frame[49]};
                psn = {frame[51], frame[52], frame[53]};
                known = qpn[k] == {1'b1, dqpn};
                if (sum == 32'hFFFFFFFF && frame[15][7:2] == 11) begin
                    count[C_TRIMMED] = count[C_TRIMMED] + 1;
                    bypass;
                end else begin
                    count[C_DATA] = count[C_DATA] + 1;
                    if (sum != 0) count[C_ICRC] = count[C_ICRC] + 1;
                    else if (total < at) count[C_MALFORMED] = count[C_MALFORMED] + 1;
                    else if (starts) begin_message;
                    else go_on;
                end
            end
        end
    endtask

    task build;  // the next frame that leaves
        begin
            out_port = queue_port[sent];
            if (!queue_sum[sent]) begin
                out_size = n;
                for (i = 0; i < n; i = i + 1) out[i] = frame[i];
            end else begin
                slot = queue_slot[sent];
                j = slot * MEMBERS + queue_rank[sent];
                out_size = header_size[j];
                for (i = 0; i < out_size; i = i + 1) out[i] = header[j * HEAD + i];
                for (i = 0; i < size[slot]; i = i + 1) out[out_size + i] = value[slot * MTU + i];
                out_size = out_size + size[slot] + 4;
                out[40] = 0;
                out[41] = 0;
                if (marked[slot] && out[15][1:0] != 0) begin
                    out[15] = out[15] | 3;
                    out[24] = 0;
                    out[25] = 0;
                    sum = 0;
                    for (i = 14; i < 34; i = i + 2) sum = sum + {16'd0, out[i], out[i + 1]};
                    sum = sum[15:0] + sum[31:16];
                    sum = ~(sum[15:0] + sum[31:16]);
                    out[24] = sum[15:8];
                    out[25] = sum[7:0];
                end
                crc = 32'hFFFFFFFF;
                for (i = 0; i < 8; i = i + 1) crc = crc_byte(crc, 8'hFF);
                for (i = 14; i < out_size - 4; i = i + 1) begin
                    octet = out[i];
                    if (i == 15 || i == 22 || i == 24 || i == 25 || i == 40 || i == 41 || i == 46) octet = 'hFF;
                    crc = crc_byte(crc, octet);
                end
                crc = ~crc;
                out[out_size - 4] = crc[7:0];
                out[out_size - 3] = crc[15:8];
                out[out_size - 2] = crc[23:16];
                out[out_size - 1] = crc[31:24];
            end
            sent = sent + 1;
            out_at = 0;
        end
    endtask

    task load_beat;
        begin
            for (i = 0; i < 8; i = i + 1) begin
                keep[i] = out_at + i < out_size;
                beat[8 * i +: 8] = keep[i] ? out[out_at + i] : 8'd0;
            end
            last = out_at + 8 >= out_size;
        end
    endtask

    task empty_ring;  // of the active configuration
        begin
            for (i = 0; i < SLOTS; i = i + 1) begin
                tag[i] = active[259] == 0 ? 0 : i / active[259];  // L is a wire, and not new yet
                bitmap[i] = 0;
                released[i] = 0;
                done[i] = 0;
                marked[i] = 0;
                size[i] = 0;
            end
            for (i = 0; i < 2 * WINDOW; i = i + 1) bank_known[i] = 0;
            for (i = 0; i < MEMBERS * ENTRIES; i = i + 1) entry_known[i] = 0;
            for (i = 0; i < MEMBERS; i = i + 1) begin
                qpn[i] = 0;
                any[i] = 0;
                plain_from[i] = 0;
                plain_to[i] = 0;
            end
            head_message = 0;
            head_offset = 0;
            plains = 0;
            plain_next = 0;
        end
    endtask

    task refuse(input [31:0] code, input [31:0] about);
        begin
            error = code;
            error_address = about;
        end
    endtask

    task start_anew;
        begin
            for (i = 0; i < 1024; i = i + 1) begin
                staged[i] = 0;
                active[i] = 0;
            end
            for (i = 0; i < COUNTERS; i = i + 1) begin
                count[i] = 0;
                copied[i] = 0;
            end
            {echo, bank, expected, commands, applied, latches} = {32'hFFFFFFFF, 160'd0};
            {read_crc, staged_crc, active_crc} = {96{1'b1}};
            {configured, running} = 0;
            refuse(0, 32'hFFFFFFFF);
            learnt = 0;
            empty_ring;
        end
    endtask

    task apply;
        begin
            if (expected != ~staged_crc) refuse(5, 'h05C);
            else if (staged[9] != 0) refuse(6, 'h1024);
            else if (staged[14] > MACS) refuse(6, 'h1038);
            else if (staged[15] > 1) refuse(6, 'h103C);
            else if (staged[15] == 1 && staged[257] != 0) refuse(6, 'h8004);
            else if (staged[15] == 1 && staged[258] != 1) refuse(6, 'h8008);
            else if (staged[15] == 1 && (staged[260] == 0 || staged[260] > WINDOW)) refuse(6, 'h8010);
            else if (staged[15] == 1 && 2 * staged[260] * staged[259] > SLOTS) refuse(6, 'h028);
            else if (staged[15] == 1 && staged[261] > MTU) refuse(6, 'h8014);
            else if (staged[15] == 1 && staged[263] != 4) refuse(6, 'h801C);
            else if (staged[15] == 1 && (staged[264] < 2 || staged[264] > MEMBERS)) refuse(6, 'h8020);
            else if (staged[15] == 1 && staged[265] != 0) refuse(6, 'h8024);
            else begin
                good = configured;
                for (i = 256; i < 1024; i = i + 1) if (staged[i] != active[i]) good = 0;
                if (staged[15] != active[15]) good = 0;
                for (i = 0; i < 256; i = i + 1)
                    if (i != 15 && staged[i] != active[i]) begin
                        good = 0;
                        learnt = 0;
                    end
                for (i = 0; i < 1024; i = i + 1) active[i] = staged[i];
                if (!good) empty_ring;
                active_crc = staged_crc;
                applied = applied + 1;
                configured = 1;
            end
        end
    endtask

    task access;
        begin
            if (!we) begin
                dat_r = 32'hFFFFFFFF;
                if (place[10]) dat_r = bank[0] ? active[place[9:0]] : staged[place[9:0]];
                else if (is_qpn && configured && active[15] == 1 && adr[7:6] < P && qpn[adr[7:6]][24])
                    dat_r = {8'd0, qpn[adr[7:6]][23:0]};
                else if (adr >= 'h208 && adr < 'h208 + 8 * COUNTERS)
                    dat_r = adr[2] ? copied[(adr - 'h208) >> 3][63:32] : copied[(adr - 'h208) >> 3][31:0];
                else if (adr >= 'h0C0 && adr < 'h0E0) dat_r = hash[32 * adr[4:2] +: 32];
                else case (adr)
                    'h000: dat_r = 'h494E4143;
                    'h004: dat_r = 'h00010002;
                    'h008: dat_r = echo;
                    'h00C: dat_r = ~read_crc;
                    'h010: dat_r = 0;
                    'h014: dat_r = 2;
                    'h018: dat_r = PORTS;
                    'h01C: dat_r = 1;
                    'h020: dat_r = MEMBERS;
                    'h024: dat_r = MACS;
                    'h028: dat_r = SLOTS;
                    'h02C: dat_r = boots;
                    'h030: dat_r = "ialp";  // "plain", the first character lowest
                    'h034: dat_r = "n";
                    'h038, 'h03C: dat_r = 0;
                    'h044: dat_r = {~status, status};
                    'h048: dat_r = error;
                    'h04C: dat_r = error_address;
                    'h050: dat_r = commands;
                    'h054: dat_r = bank;
                    'h058: dat_r = ~staged_crc;
                    'h05C: dat_r = expected;
                    'h060: dat_r = ~active_crc;
                    'h064: dat_r = applied;
                    'h080: dat_r = 2;
                    'h08C, 'h090: dat_r = 0;
                    'h094: dat_r = 'h00010000;
                    'h0E0: dat_r = "rten";
                    'h0E4: dat_r = "cude";
                    'h0E8: dat_r = "e";
                    'h0EC: dat_r = 0;
                    'h200: dat_r = latches;
                    default: ;
                endcase
                if (adr != 'h00C) read_crc = crc_word(crc_word(read_crc, adr), dat_r);
            end else if (place[10]) begin
                staged[place[9:0]] = dat_w;
                staged_crc = crc_word(crc_word(staged_crc, adr), dat_w);
            end else case (adr)
                'h008: echo = ~dat_w;
                'h00C: read_crc = 32'hFFFFFFFF;
                'h054: bank = dat_w;
                'h05C: expected = dat_w;
                'h040: begin
                    commands = commands + 1;
                    refuse(0, 32'hFFFFFFFF);
                    if (dat_w[31:16] != ~dat_w[15:0]) refuse(1, 32'hFFFFFFFF);
                    else case (dat_w[15:0])
                        1: begin
                            for (i = 0; i < 1024; i = i + 1) staged[i] = 0;
                            staged_crc = 32'hFFFFFFFF;
                        end
                        2: apply;
                        3: if (configured) running = 1; else refuse(3, 32'hFFFFFFFF);
                        4: running = 0;
                        5: begin
                            start_anew;
                            boots = boots + 1;
                        end
                        6: begin
                            for (i = 0; i < COUNTERS; i = i + 1) copied[i] = count[i];
                            latches = latches + 1;
                        end
                        default: refuse(1, 32'hFFFFFFFF);
                    endcase
                end
                default: refuse(12, adr);
            endcase
        end
    endtask

    always @(posedge clk) begin
        ack = 0;
        if (rst) begin
            start_anew;
            boots = 1;
            served = 0;
            state = S_IDLE;
        end else begin
            if (stb && !served) begin
                access;
                ack = 1;
            end
            served = stb;
            case (state)
                S_IDLE: if (|s_tvalid) begin
                    port = s_tvalid[0] ? 0 : s_tvalid[1] ? 1 : s_tvalid[2] ? 2 : 3;
                    n = 0;
                    state = S_IN;
                end
                S_IN: if (s_tvalid[port]) begin
                    for (i = 0; i < 8; i = i + 1)
                        if (s_tkeep[8 * port + i] && n < ROOM) begin
                            frame[n] = s_tdata[64 * port + 8 * i +: 8];
                            n = n + 1;
                        end
                    if (s_tlast[port]) state = S_WORK;
                end
                S_WORK: begin
                    work;
                    state = queued == 0 ? S_IDLE : S_BUILD;
                end
                S_BUILD: begin
                    build;
                    load_beat;
                    state = S_OUT;
                end
                S_OUT: if (m_tready[out_port]) begin
                    out_at = out_at + 8;
                    if (!last) load_beat;
                    else begin
                        count[C_OUT] = count[C_OUT] + 1;
                        state = sent == queued ? S_IDLE : S_BUILD;
                    end
                end
                default: state = S_IDLE;
            endcase
        end
    end
endmodule
