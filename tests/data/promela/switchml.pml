/* SwitchML for Spin 6.5, written from docs/switchml.md and Sapio et al., NSDI 2021, and not from our code.

   W workers send B blocks of int32 through S slots, each with two versions. At most F frames are lost, copied or held
   back. The abstraction is that of docs/states.md: frames of a link stay in order, what a fault holds back arrives at any
   later moment, and the oldest timer of a worker expires while no frame waits. tests/testbed/states/test_spin.py compares
   the number of states with that of `tb states --full`. */

#ifndef W
#define W 2
#define S 2
#define B 3
#define F 1
#endif
#define Q 12
#define ALL ((1 << W) - 1)
#define WHOLE ((1 << B) - 1)

chan up[W] = [Q] of { byte };      /* frames of a worker to the switch: the block */
chan down[W] = [Q] of { byte };    /* results to a worker */
chan timer[W] = [S] of { byte };   /* blocks that wait for a result, by deadline */
byte upHeld[W * B], downHeld[W * B];
byte faults;

bool started[W], finished[W];
byte got[W];                       /* bit per block: its result is there */

byte seen[2 * S], inside[2 * S], entered[2 * S], serves[2 * S];  /* serves: block + 1 */
byte newest[W * S];                /* block + 1 */

hidden byte p, i, here, other, k;

inline sent(w, block) { up[w] ! block; timer[w] ! block }

inline answer(w, block) { down[w] ! block }

inline move_on(w) {
    if
    :: seen[other] & (1 << w) -> seen[other] = seen[other] - (1 << w)
    :: else
    fi
}

/* Block p of worker w comes to the switch. */
inline at_switch(w) {
    i = p % S;
    here = ((p / S) % 2) * S + i;
    other = (1 - (p / S) % 2) * S + i;
    if
    :: newest[w * S + i] > p + 1                          /* stale */
    :: else ->
        if
        :: seen[here] && serves[here] != p + 1            /* the slot serves another block */
        :: else ->
            if
            :: seen[here] & (1 << w) ->                   /* a repetition: answered once the sum is complete */
                if
                :: inside[here] == W -> newest[w * S + i] = p + 1; move_on(w); answer(w, p)
                :: else
                fi
            :: else ->
                if
                :: seen[other] && inside[other] != W      /* sent ahead of the result */
                :: else ->
                    newest[w * S + i] = p + 1;
                    move_on(w);
                    if
                    :: seen[here] == 0 -> serves[here] = p + 1; inside[here] = 0; entered[here] = 0
                    :: else
                    fi;
                    inside[here] = inside[here] + 1;
                    entered[here] = entered[here] | (1 << w);
                    seen[here] = seen[here] | (1 << w);
                    assert(serves[here] == p + 1);
                    if
                    :: seen[here] == ALL ->
                        assert(entered[here] == ALL && inside[here] == W);
                        for (k : 0 .. W - 1) { answer(k, p) }
                    :: else
                    fi
                fi
            fi
        fi
    fi
}

/* The result of block p comes to worker w. */
inline at_worker(w) {
    if
    :: timer[w] ?? [eval(p)] ->
        timer[w] ?? eval(p);
        got[w] = got[w] | (1 << p);
        if
        :: p + S < B -> sent(w, p + S)
        :: else
        fi
    :: else
    fi
}

/* All that one worker, and its link, may do next. */
#define WORKER(w) \
    :: d_step { !started[w] -> started[w] = true; p = 0; do :: p < S && p < B -> sent(w, p); p++ :: else -> break od } \
    :: d_step { got[w] == WHOLE && !finished[w] -> finished[w] = true } \
    :: d_step { len(timer[w]) && NOTHING_WAITS -> timer[w] ? p; sent(w, p) } \
    :: d_step { len(up[w]) -> up[w] ? p; at_switch(w) } \
    :: d_step { len(down[w]) -> down[w] ? p; at_worker(w) } \
    :: d_step { faults < F && len(up[w]) -> up[w] ? p; faults++ } \
    :: d_step { faults < F && len(down[w]) -> down[w] ? p; faults++ } \
    :: d_step { faults < F && len(up[w]) -> up[w] ? <p>; upHeld[w * B + p]++; faults++ } \
    :: d_step { faults < F && len(down[w]) -> down[w] ? <p>; downHeld[w * B + p]++; faults++ } \
    :: d_step { faults < F && len(up[w]) -> up[w] ? p; upHeld[w * B + p]++; faults++ } \
    :: d_step { faults < F && len(down[w]) -> down[w] ? p; downHeld[w * B + p]++; faults++ }

/* A held frame of block b arrives. */
#define HELD(w, b) \
    :: d_step { upHeld[w * B + b] -> upHeld[w * B + b]--; p = b; at_switch(w) } \
    :: d_step { downHeld[w * B + b] -> downHeld[w * B + b]--; p = b; at_worker(w) }

#if W == 2
#define NOTHING_WAITS (len(up[0]) + len(up[1]) + len(down[0]) + len(down[1]) == 0)
#else
#define NOTHING_WAITS (len(up[0]) + len(up[1]) + len(up[2]) + len(down[0]) + len(down[1]) + len(down[2]) == 0)
#endif

active proctype network() {
end:
    do
    WORKER(0)
    WORKER(1)
    HELD(0, 0)
    HELD(1, 0)
#if B > 1
    HELD(0, 1)
    HELD(1, 1)
#endif
#if B > 2
    HELD(0, 2)
    HELD(1, 2)
#endif
#if B > 3
    HELD(0, 3)
    HELD(1, 3)
#endif
#if W > 2
    WORKER(2)
    HELD(2, 0)
#if B > 1
    HELD(2, 1)
#endif
#if B > 2
    HELD(2, 2)
#endif
#if B > 3
    HELD(2, 3)
#endif
#endif
    od
}
