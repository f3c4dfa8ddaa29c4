/* NetReduce's slots under go-back-N, for Spin 6.5. Written from docs/netreduce.md and docs/roce.md, and not from our
   code.

   W ranks send a hello and B blocks, each a message of one packet, to the next rank of the ring. N messages are under
   way. The switch has 2N slots. At most F frames are lost, copied or held back. The abstraction is that of docs/states.md:
   frames of a link stay in order, what a fault holds back arrives at any later moment, and the timer of a sender expires
   while no frame waits. tests/testbed/states/test_spin.py compares the number of states with that of `tb states --full`.

   A frame is KIND * M + number. DATA m on the way to the switch is a contribution, and behind it a result. RAW m is a
   contribution that the switch let pass. ACK n and NAK n: all messages before n arrived. */

#ifndef W
#define W 2
#define N 2
#define B 3
#define F 1
#endif
#define M (B + 1)
#define SLOTS (2 * N)
#define Q 16
#define ALL ((1 << W) - 1)
#define DATA(m) (m)
#define ACK(n) (M + (n) - 1)
#define NAK(n) (2 * M + (n))
#define RAW(m) (3 * M + (m))
#define CODES (4 * M)
#define NEXT(w) (((w) + 1) % W)
#define BEFORE(w) (((w) + W - 1) % W)
#define LESS(a, b) ((a) < (b) -> (a) : (b))

chan up[W] = [Q] of { byte };
chan down[W] = [Q] of { byte };
byte upHeld[W * CODES], downHeld[W * CODES];
byte faults;

bool started[W], whole[W], finished[W];
byte acked[W];                     /* the oldest message without an acknowledgement */
byte posted[W];
bool retrying[W];                  /* went back, and nothing new was acknowledged since */
byte wanted[W];                    /* the message that the receiver waits for */
bool gap[W];                       /* it sent a NAK for that one */

byte inside[SLOTS], answered[SLOTS];  /* bit per rank: its contribution is here; its result left */
byte rounds[SLOTS];                /* how often the switch cleared the slot */
byte head;                         /* the oldest message without a sum */

hidden byte f, n, s, k, at, limit;
hidden byte early;

inline resend(w, from) {
    n = from;
    do
    :: n < posted[w] -> up[w] ! DATA(n); n++
    :: else -> break
    od
}

/* Post what hello, credit and send queue allow, and send it behind what must be sent again, from message `from` on. */
inline post(w, from) {
    if
    :: started[w] ->
        limit = LESS(M, LESS(N + LESS(wanted[w], acked[w]), acked[w] + 2 * N));
        if
        :: wanted[w] == 0 -> limit = LESS(limit, 1)
        :: else
        fi;
        at = from;
        if
        :: limit > posted[w] -> posted[w] = limit
        :: else
        fi;
        resend(w, at)
    :: else
    fi
}

inline stops(w) {
    if
    :: whole[w] && acked[w] == M -> finished[w] = true
    :: else
    fi
}

/* Everything before `to` arrived at the receiver of rank w. */
inline acknowledge(w, to) {
    if
    :: to > acked[w] -> acked[w] = to; retrying[w] = false
    :: else
    fi
}

inline at_host(w) {
    if
    :: f >= M && f < 2 * M ->                             /* an ACK */
        acknowledge(w, f - M + 1);
        post(w, posted[w]);
        stops(w)
    :: f >= 2 * M && f < 3 * M ->                         /* a NAK: f - 2M is missing */
        f = f - 2 * M;
        if
        :: f < acked[w] || f >= posted[w]                 /* about nothing that waits */
        :: else ->
            acknowledge(w, f);
            if
            :: retrying[w] -> post(w, posted[w])
            :: else -> retrying[w] = true; post(w, acked[w])
            fi
        fi
    :: else ->                                            /* data */
        assert(f < M || f - 3 * M < wanted[w]);           /* no raw contribution is taken for a result */
        f = f % M;
        if
        :: f > wanted[w] ->
            if
            :: gap[w]
            :: else -> gap[w] = true; up[w] ! NAK(wanted[w])
            fi
        :: f < wanted[w] -> up[w] ! ACK(wanted[w])
        :: else ->
            wanted[w]++;
            gap[w] = false;
            up[w] ! ACK(wanted[w]);
            post(w, posted[w])
        fi
    fi
}

inline send_result(k_, m) { down[NEXT(k_)] ! DATA(m) }

/* The result of message m leaves on the connections of `mask` on which it has not left. */
inline release(m, mask) {
    for (k : 0 .. W - 1) {
        if
        :: (mask & (1 << k)) && !(answered[(m) % SLOTS] & (1 << k)) ->
            answered[(m) % SLOTS] = answered[(m) % SLOTS] | (1 << k);
            send_result(k, m)
        :: else
        fi
    }
}

#define SERVES(s) ((s) + SLOTS * rounds[s])
#define COMPLETE(m) (SERVES((m) % SLOTS) == (m) && inside[(m) % SLOTS] == ALL)
#define MISSING(m) (SERVES((m) % SLOTS) == (m) -> ALL - inside[(m) % SLOTS] : ALL)

/* Frame f of rank w comes to the switch. */
inline at_switch(w) {
    if
    :: f >= M -> down[BEFORE(w)] ! f                      /* answers pass */
    :: else ->
        s = f % SLOTS;
        if
        :: SERVES(s) < f                                  /* a sender broke its credit */
        :: SERVES(s) > f ->
            if
            :: head > 0 && f + N <= head - 1 ->           /* its receiver has the result */
                if
                :: f == 0 -> down[NEXT(w)] ! DATA(0)      /* a hello and its result are the same bytes */
                :: else -> down[NEXT(w)] ! RAW(f)
                fi
            :: else
            fi
        :: else ->
            if
            :: inside[s] & (1 << w) ->                    /* a repetition */
                if
                :: answered[s] & (1 << w) -> send_result(w, f)
                :: else
                fi
            :: else ->
                inside[s] = inside[s] | (1 << w);
                if
                :: inside[s] == ALL ->
                    if
                    :: f >= N && SERVES((f - N) % SLOTS) == f - N ->  /* every host has the result of f - N */
                        rounds[(f - N) % SLOTS]++;
                        inside[(f - N) % SLOTS] = 0;
                        answered[(f - N) % SLOTS] = 0
                    :: else
                    fi;
                    if
                    :: f != head -> early = MISSING(head); release(f, early)
                    :: else ->
                        do
                        :: head < M && COMPLETE(head) -> release(head, ALL); head++
                        :: else -> break
                        od;
                        n = head + 1;
                        do
                        :: n < M ->
                            if
                            :: COMPLETE(n) -> early = MISSING(head); release(n, early)
                            :: else
                            fi;
                            n++
                        :: else -> break
                        od
                    fi
                :: else
                fi
            fi
        fi
    fi
}

#define RESULTS_ARE_NEW(w) (wanted[w] == M && !whole[w])

/* All that one worker, and its link, may do next. A worker that has all its results reports this before its timer. */
#define WORKER(w) \
    :: d_step { !started[w] -> started[w] = true; post(w, 0); f = 0 } \
    :: d_step { RESULTS_ARE_NEW(w) -> whole[w] = true; stops(w); f = 0 } \
    :: d_step { acked[w] < posted[w] && !RESULTS_ARE_NEW(w) && NOTHING_WAITS -> retrying[w] = true; resend(w, acked[w]); f = 0 } \
    :: d_step { len(up[w]) -> up[w] ? f; at_switch(w); f = 0 } \
    :: d_step { len(down[w]) -> down[w] ? f; at_host(w); f = 0 } \
    :: d_step { faults < F && len(up[w]) -> up[w] ? f; faults++ } \
    :: d_step { faults < F && len(down[w]) -> down[w] ? f; faults++ } \
    :: d_step { faults < F && len(up[w]) -> up[w] ? <f>; upHeld[w * CODES + f]++; faults++ } \
    :: d_step { faults < F && len(down[w]) -> down[w] ? <f>; downHeld[w * CODES + f]++; faults++ } \
    :: d_step { faults < F && len(up[w]) -> up[w] ? f; upHeld[w * CODES + f]++; faults++ } \
    :: d_step { faults < F && len(down[w]) -> down[w] ? f; downHeld[w * CODES + f]++; faults++ }

/* A held frame arrives. */
#define HELD(w, c) \
    :: d_step { upHeld[w * CODES + c] -> upHeld[w * CODES + c]--; f = c; at_switch(w); f = 0 } \
    :: d_step { downHeld[w * CODES + c] -> downHeld[w * CODES + c]--; f = c; at_host(w); f = 0 }
#define HELD4(w, c) HELD(w, c) HELD(w, c + 1) HELD(w, c + 2) HELD(w, c + 3)

#if W == 2
#define NOTHING_WAITS (len(up[0]) + len(up[1]) + len(down[0]) + len(down[1]) == 0)
#define ALL_HELD4(c) HELD4(0, c) HELD4(1, c)
#else
#define NOTHING_WAITS (len(up[0]) + len(up[1]) + len(up[2]) + len(down[0]) + len(down[1]) + len(down[2]) == 0)
#define ALL_HELD4(c) HELD4(0, c) HELD4(1, c) HELD4(2, c)
#endif

active proctype network() {
end:
    do
    WORKER(0)
    WORKER(1)
#if W > 2
    WORKER(2)
#endif
    ALL_HELD4(0)
    ALL_HELD4(4)
#if B > 1
    ALL_HELD4(8)
#endif
#if B > 2
    ALL_HELD4(12)
#endif
#if B > 3
    ALL_HELD4(16)
#endif
    od
}
