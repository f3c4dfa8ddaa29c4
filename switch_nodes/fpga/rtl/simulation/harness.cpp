// Drives a card that Verilator made from Verilog: frames in and out, with gaps and back-pressure drawn from a seed, and
// the register bus. All of it is deterministic in (calls, seed). Loaded with ctypes (`library.py`).
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "Vina_card.h"
#include "verilated.h"
#include "verilated_vcd_c.h"

#ifndef INA_PORTS
#error "INA_PORTS and INA_WIDTH are those of the card"
#endif

namespace {

constexpr int kBeat = INA_WIDTH / 8;

struct Frame {
    int port;
    uint64_t step;
    uint64_t cycle;
    std::vector<uint8_t> bytes;
};

struct Tap {
    uint32_t kind, known, ring, rank, message, offset, packets, reason;
};

struct Card {
    VerilatedContext context;
    Vina_card *top;
    VerilatedVcdC *trace = nullptr;
    uint64_t cycle = 0, dump_from = 0, dump_to = 0;
    uint64_t random;
    uint32_t gaps = 0, stalls = 0;  // per 256 cycles
    std::deque<Frame> inputs, outputs;
    std::deque<Tap> taps;
    size_t at = 0;          // bytes of the first input that are in
    bool offered = false;   // a beat is offered; it stays until it is taken
    std::vector<uint8_t> partial[INA_PORTS];
    uint64_t beats_wrong = 0;  // beats that break a rule of AXI4-Stream
    bool held[INA_PORTS] = {};
    bool held_last[INA_PORTS], held_keep[INA_PORTS][kBeat];
    uint8_t held_data[INA_PORTS][kBeat];

    explicit Card(uint64_t seed) : random(seed * 0x9E3779B97F4A7C15ull + 1) {
        context.traceEverOn(true);
        top = new Vina_card(&context);
    }
    ~Card() {
        if (trace) {
            trace->close();
            delete trace;
        }
        top->final();
        delete top;
    }
    uint32_t draw() {  // splitmix64
        uint64_t z = (random += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
    }
    template <class T> static uint8_t *bytes_of(T &pin) { return reinterpret_cast<uint8_t *>(&pin); }
    template <class T> static bool bit(T &pin, int number) { return bytes_of(pin)[number / 8] >> (number % 8) & 1; }
    template <class T> static void set_bit(T &pin, int number, bool value) {
        uint8_t &byte = bytes_of(pin)[number / 8];
        byte = value ? byte | 1u << (number % 8) : byte & ~(1u << (number % 8));
    }

    void offer() {
        memset(&top->rx_valid, 0, sizeof top->rx_valid);
        memset(&top->rx_last, 0, sizeof top->rx_last);
        if (inputs.empty()) return;
        if (!offered && gaps && (draw() & 255) < gaps) return;
        Frame &frame = inputs.front();
        size_t count = frame.bytes.size() - at;
        bool last = count <= kBeat;
        if (last == false) count = kBeat;
        if (!offered) {
            uint8_t *data = bytes_of(top->rx_data) + frame.port * kBeat;
            for (size_t i = 0; i < kBeat; i++) data[i] = i < count ? frame.bytes[at + i] : draw();
            memset(&top->rx_keep, 0, sizeof top->rx_keep);
            for (size_t i = 0; i < count; i++) set_bit(top->rx_keep, frame.port * kBeat + i, true);
        }
        offered = true;
        set_bit(top->rx_valid, frame.port, true);
        set_bit(top->rx_last, frame.port, last);
    }

    void take() {
        for (int port = 0; port < INA_PORTS; port++) {
            bool valid = bit(top->tx_valid, port), ready = bit(top->tx_ready, port);
            const uint8_t *data = bytes_of(top->tx_data) + port * kBeat;
            bool keep[kBeat], last = bit(top->tx_last, port);
            for (int i = 0; i < kBeat; i++) keep[i] = bit(top->tx_keep, port * kBeat + i);
            // What waits for `ready` must not change.
            if (held[port] && (!valid || last != held_last[port] || memcmp(held_keep[port], keep, sizeof keep) ||
                               memcmp(held_data[port], data, kBeat)))
                beats_wrong++;
            held[port] = valid && !ready;
            held_last[port] = last;
            memcpy(held_keep[port], keep, sizeof keep);
            memcpy(held_data[port], data, kBeat);
            if (!valid || !ready) continue;
            bool ended = false;
            for (int i = 0; i < kBeat; i++) {
                if (keep[i] && ended) beats_wrong++;
                ended = ended || !keep[i];
                if (keep[i]) partial[port].push_back(data[i]);
            }
            if (ended && !last) beats_wrong++;
            if (last) {
                outputs.push_back({port, top->frames_in, cycle, partial[port]});
                partial[port].clear();
            }
        }
    }

    void tick() {
        offer();
        for (int port = 0; port < INA_PORTS; port++)
            set_bit(top->tx_ready, port, !stalls || (draw() & 255) >= stalls);
        top->clk = 0;
        top->eval();
        if (trace && cycle >= dump_from && cycle < dump_to) trace->dump(2 * cycle);
        bool taken = offered && bit(top->rx_ready, inputs.front().port);
        take();
        if (top->tap_valid)
            taps.push_back({top->tap_kind, top->tap_known, top->tap_ring, top->tap_rank, top->tap_message,
                            top->tap_offset, top->tap_packets, top->tap_reason});
        top->clk = 1;
        top->eval();
        if (trace && cycle >= dump_from && cycle < dump_to) trace->dump(2 * cycle + 1);
        cycle++;
        if (taken) {
            offered = false;
            at += kBeat;
            if (at >= inputs.front().bytes.size()) {
                inputs.pop_front();
                at = 0;
            }
        }
    }
};

}  // namespace

extern "C" {

Card *card_open(uint64_t seed, const uint8_t *hash) {
    Card *card = new Card(seed);
    Vina_card *top = card->top;
    memcpy(&top->hash, hash, 32);
    top->bus_strobe = 0;
    top->rst = 1;
    card->tick();
    card->tick();
    top->rst = 0;
    return card;
}

void card_close(Card *card) { delete card; }

void card_plant(Card *card, int number) { card->top->plant = number; }

void card_pressure(Card *card, uint32_t gaps, uint32_t stalls) {
    card->gaps = gaps;
    card->stalls = stalls;
}

void card_trace(Card *card, const char *path, uint64_t from, uint64_t to) {
    card->trace = new VerilatedVcdC;
    card->top->trace(card->trace, 99);
    card->trace->open(path);
    card->dump_from = from;
    card->dump_to = to;
}

uint64_t card_cycle(Card *card) { return card->cycle; }

uint64_t card_wrong_beats(Card *card) { return card->beats_wrong; }

// One access of the bus. -1: no answer within `limit` cycles.
int card_access(Card *card, int write, uint32_t address, uint32_t *word, uint64_t limit) {
    Vina_card *top = card->top;
    top->bus_strobe = 1;
    top->bus_write = write;
    top->bus_address = address;
    top->bus_w_data = *word;
    for (uint64_t end = card->cycle + limit; card->cycle < end;) {
        card->tick();
        if (top->bus_ack) {
            *word = top->bus_r_data;
            top->bus_strobe = 0;
            card->tick();
            card->tick();
            return 0;
        }
    }
    top->bus_strobe = 0;
    return -1;
}

void card_push(Card *card, int port, const uint8_t *data, size_t size) {
    card->inputs.push_back({port, 0, 0, std::vector<uint8_t>(data, data + size)});
}

// Until all inputs are in and the card is idle. -1: not within `limit` cycles.
int card_run(Card *card, uint64_t limit) {
    int quiet = 0;
    for (uint64_t end = card->cycle + limit; card->cycle < end;) {
        card->tick();
        quiet = card->inputs.empty() && card->top->idle ? quiet + 1 : 0;
        if (quiet >= 3) return 0;
    }
    return -1;
}

// Copies the oldest thing that happened; -1: none.
int card_tap(Card *card, uint32_t *values) {
    if (card->taps.empty()) return -1;
    memcpy(values, &card->taps.front(), sizeof(Tap));
    card->taps.pop_front();
    return 0;
}

// Bytes of the oldest frame that left, copied to `data`; -1: none.
long card_pop(Card *card, int *port, uint64_t *step, uint64_t *cycle, uint8_t *data, size_t room) {
    if (card->outputs.empty()) return -1;
    Frame &frame = card->outputs.front();
    long size = static_cast<long>(frame.bytes.size());
    *port = frame.port;
    *step = frame.step;
    *cycle = frame.cycle;
    memcpy(data, frame.bytes.data(), frame.bytes.size() < room ? frame.bytes.size() : room);
    card->outputs.pop_front();
    return size;
}

}  // extern "C"
