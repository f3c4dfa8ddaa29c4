"""Planted bugs that `tb states` finds, each in a small configuration that shows it, and those that it does not find.

The bound: 2 or 3 workers, 1 or 2 slots, 1 to 5 blocks, at most 2 faults, and the rules of `testbed.states.judge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FOUND", "OUTSIDE", "Shown"]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a bug shows."""

    size: tuple[int, int, int]
    """workers, slots, blocks"""
    check: str
    """what breaks first"""
    faults: int
    steps: int
    """of the minimal trace"""
    replay: str | None
    """check that the scenario of the trace fails in the simulated world; None: it has none, or none fails"""
    overrides: tuple[str, ...] = ()


_FLOATS_TWICE = ("job.dtype=float32", "job.iterations=2")
_TIERS = "topology={kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: [2, 1]}"

FOUND: Mapping[str, Mapping[str, Shown]] = {
    "switchml": {
        "NoShadowCopy": Shown((2, 2, 3), "bit_exact", 1, 18, "bit_exact"),
        "NoVersionBit": Shown((2, 2, 3), "stuck", 0, 0, "liveness"),
        "NoReplay": Shown((2, 2, 3), "stuck", 1, 5, "liveness"),
        "BitmapIgnored": Shown((2, 2, 3), "exactly_once", 0, 5, "bit_exact"),
        "NeverForgets": Shown((2, 1, 4), "stuck", 0, 0, "liveness"),
        "AddsToTheOldSum": Shown((2, 1, 4), "bit_exact", 0, 19, "bit_exact"),
        "BelievesOldCopies": Shown((2, 2, 3), "slots_empty", 1, 18, "liveness"),
        "LastExponents": Shown((2, 1, 2), "stuck", 0, 2, "liveness", _FLOATS_TWICE),
        "AnswersOnce": Shown((2, 1, 3), "stuck", 2, 9, "liveness"),
        "FirstByCount": Shown((2, 1, 4), "exactly_once", 0, 11, "liveness"),
        "versions_begin_anew": Shown((2, 1, 2), "stuck", 0, 0, "liveness", _FLOATS_TWICE),
        "takes_any_result": Shown((2, 2, 3), "bit_exact", 0, 14, "bit_exact"),
        "sends_again_once": Shown((2, 2, 3), "deadlock", 1, 15, "liveness"),
        "runs_ahead": Shown((2, 2, 3), "deadlock", 0, 10, "liveness"),
        "NewestForgotten": Shown((2, 2, 3), "slots_empty", 1, 18, "liveness"),
        "OlderOrEqual": Shown((2, 2, 3), "stuck", 1, 5, "liveness"),
        "MovesAllOn": Shown((2, 2, 3), "stuck", 1, 5, "liveness"),
        "ReplaysTheOtherVersion": Shown((2, 2, 3), "bit_exact", 1, 18, "bit_exact"),
        "LengthOfTheFirst": Shown((2, 1, 2), "stuck", 0, 0, "liveness", _FLOATS_TWICE),
        "CompletesByCount": Shown((2, 2, 3), "exactly_once", 0, 5, "bit_exact"),
        "SaturatingPool": Shown((2, 2, 3), "bit_exact", 0, 15, "bit_exact"),
        "window_one_larger": Shown((2, 2, 3), "stuck", 0, 0, "liveness"),
        "version_by_packet": Shown((2, 2, 3), "stuck", 0, 0, "liveness"),
        "never_sends_again": Shown((2, 2, 3), "deadlock", 1, 8, "liveness"),
        "leaf AnyBlock": Shown((3, 1, 3), "bit_exact", 1, 39, "liveness", (_TIERS,)),
        "leaf NoVersion": Shown((3, 1, 3), "stuck", 0, 0, "liveness", (_TIERS,)),
        "leaf NeverRepeats": Shown((3, 1, 3), "stuck", 1, 3, "liveness", (_TIERS,)),
        "leaf NoReplay": Shown((3, 1, 3), "stuck", 1, 9, "liveness", (_TIERS,)),
        "leaf AnswersByRack": Shown((3, 1, 3), "bit_exact", 0, 34, "liveness", (_TIERS,)),
        "leaf SpreadsByPartial": Shown((3, 1, 3), "bit_exact", 0, 31, "liveness", (_TIERS,)),
        "leaf KeepsAnswer": Shown((3, 1, 3), "bit_exact", 0, 34, "liveness", (_TIERS,)),
        "leaf ForgetsSum": Shown((3, 1, 3), "bit_exact", 1, 34, "liveness", (_TIERS,)),
        "leaf NoneEmpty": Shown((3, 1, 2), "stuck", 0, 0, "liveness", ("job.dtype=float32", _TIERS)),
    },
    "netreduce": {
        "ClearedOnArrival": Shown((2, 1, 2), "stuck", 1, 7, "liveness"),
        "NSlots": Shown((2, 1, 2), "stuck", 1, 5, "liveness"),
        "NoTag": Shown((2, 1, 2), "slots_empty", 1, 30, "liveness"),
        "NoReplay": Shown((2, 1, 2), "stuck", 1, 5, "liveness"),
        "HeaderSummed": Shown((2, 1, 2), "liveness", 0, 5, "liveness"),
        "IcrcNotRedone": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "SlotIsPsnModulo": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "RetransmissionCountedTwice": Shown((2, 1, 2), "exactly_once", 0, 6, "exactly_once"),
        "RetransmissionRecounted": Shown((2, 1, 2), "exactly_once", 0, 6, "exactly_once"),
        "OnlyTheSameOffsetReclaimed": Shown(
            (2, 1, 5), "stuck", 0, 0, "liveness", ("job.message_packets=2", "job.iterations=2")
        ),
        "UnknownDataForwarded": Shown((2, 1, 3), "bit_exact", 2, 34, None, ("job.message_packets=2",)),
        "ImmediateChanged": Shown((2, 1, 2), "liveness", 0, 5, "liveness"),
        "NewestMessageOnly": Shown(
            (2, 2, 4), "stuck", 1, 9, "liveness", ("job.message_packets=2", "transport.start_psn=16777214")
        ),
        "PsnWithoutWrap": Shown(
            (2, 2, 4), "stuck", 0, 0, "liveness", ("job.message_packets=2", "transport.start_psn=16777214")
        ),
        "SumsInDouble": Shown((3, 1, 1), "bit_exact", 0, 22, "bit_exact", ("job.dtype=float32",)),
        "ReclaimsOneTooEarly": Shown((2, 2, 3), "stuck", 1, 9, "liveness"),
        "ReclaimsOneTooLate": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "KeepsTheLength": Shown((2, 1, 5), "stuck", 0, 0, "liveness", ("job.message_packets=2",)),
        "RawForTheOneBefore": Shown((2, 1, 2), "bit_exact", 1, 26, "bit_exact"),
        "ReplaysToTheNext": Shown((2, 1, 2), "stuck", 1, 5, "liveness"),
        "OfMembersInOtherOrder": Shown((3, 1, 1), "stuck", 0, 0, "liveness"),
        "credit_on_post": Shown((2, 1, 2), "bit_exact", 1, 29, "bit_exact"),
        "requester_without_wrap": Shown((2, 2, 3), "stuck", 1, 16, "liveness", ("transport.start_psn=16777214",)),
        "gaps_accepted": Shown((2, 1, 2), "liveness", 1, 15, "liveness", ("job.message_packets=2",)),
        "no_timer": Shown((2, 2, 3), "deadlock", 1, 28, "liveness"),
        "stale_receive": Shown((2, 2, 3), "liveness", 0, 27, "liveness"),
        "acks_what_comes_next": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "duplicates_unanswered": Shown((2, 1, 2), "stuck", 1, 7, "liveness"),
        "nak_names_what_came": Shown((2, 1, 2), "stuck", 1, 12, "liveness", ("job.message_packets=2",)),
        "refused_packet_is_placed": Shown((2, 1, 1), "deadlock", 0, 22, "liveness", ("transport.receive_late=1ms",)),
        "responder_without_wrap": Shown((2, 1, 2), "stuck", 1, 15, "liveness", ("transport.start_psn=16777214",)),
        "rnr_wait_ignored": Shown((2, 1, 1), "stuck", 0, 2, "liveness", ("transport.receive_late=1ms",)),
        "takes_one_more": Shown((2, 2, 4), "stuck", 1, 9, "liveness", ("job.message_packets=2",)),
        "takes_one_less": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "old_answers_count": Shown((2, 1, 2), "deadlock", 2, 27, "liveness"),
    },
    "irn": {
        "MessageByItsSlot": Shown((2, 1, 2), "slots_empty", 1, 30, "liveness", ("transport.recovery=irn",)),
        "OffsetOneLess": Shown(
            (2, 1, 3), "stuck", 0, 0, "liveness", ("job.message_packets=3", "transport.recovery=irn")
        ),
        "CumulativeOneMore": Shown((2, 1, 2), "stuck", 0, 5, "liveness", ("transport.recovery=irn",)),
        "repeats_go_to_the_begin": Shown(
            (2, 1, 2), "stuck", 1, 12, "liveness", ("job.message_packets=2", "transport.recovery=irn")
        ),
        "psns_of_answers_do_not_wrap": Shown(
            (2, 1, 2), "stuck", 0, 0, "liveness", ("transport.start_psn=16777214", "transport.recovery=irn")
        ),
        "names_what_came_last": Shown((2, 1, 2), "stuck", 0, 0, "liveness", ("transport.recovery=irn",)),
        "duplicates_unanswered_by_irn": Shown((2, 1, 2), "stuck", 1, 7, "liveness", ("transport.recovery=irn",)),
    },
    "atp": {
        "ResendAddsTwice": Shown((2, 1, 2), "exactly_once", 0, 4, "bit_exact"),
        "NeverFrees": Shown((2, 1, 2), "slots_empty", 0, 16, "liveness"),
        "OneSlotForAll": Shown((2, 1, 2), "exactly_once", 1, 11, None),
        "LastExponents": Shown((2, 1, 2), "stuck", 0, 3, "liveness", _FLOATS_TWICE),
        "partial merged twice": Shown((2, 1, 2), "exactly_once", 0, 13, None),
        "overlapping partial added": Shown((3, 1, 2), "exactly_once", 0, 17, None, ("job.window_packets=2",)),
        "wider packet added": Shown((3, 1, 2), "exactly_once", 0, 17, None, ("job.window_packets=2",)),
        "whole sum added": Shown((2, 1, 2), "exactly_once", 0, 10, None),
        "results not kept": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "blocks mixed": Shown((2, 1, 2), "stuck", 0, 0, "liveness"),
        "RepeatsAreSummed": Shown((2, 1, 2), "exactly_once", 1, 6, "bit_exact"),
        "FirstExponents": Shown((2, 1, 2), "stuck", 0, 3, None, _FLOATS_TWICE),
        "older block from the cache": Shown((2, 1, 2), "stuck", 0, 0, "liveness", _FLOATS_TWICE),
        "ExponentsUnchecked": Shown((2, 1, 2), "bit_exact", 0, 14, None),
        "OneMoreThanTheWindow": Shown(
            (2, 1, 3), "deadlock", 0, 17, "liveness", ("job.window_packets=2", "job.iterations=2")
        ),
    },
    "esa": {
        "ResendAllocates": Shown((2, 1, 2), "stuck", 0, 26, None, _FLOATS_TWICE),
        "ResendAddsTwice": Shown((2, 1, 2), "exactly_once", 0, 4, "bit_exact"),
        "OneSlotForAll": Shown((2, 1, 2), "exactly_once", 0, 3, "bit_exact", ("job.window_packets=2",)),
        "LastExponents": Shown((2, 1, 2), "stuck", 0, 3, "liveness", _FLOATS_TWICE),
        "partial merged twice": Shown((2, 1, 2), "exactly_once", 0, 13, None),
        "overlapping partial added": Shown((3, 1, 2), "exactly_once", 0, 17, None, ("job.window_packets=2",)),
        "wider packet added": Shown((3, 1, 2), "exactly_once", 0, 17, None, ("job.window_packets=2",)),
        "whole sum added": Shown((2, 1, 2), "exactly_once", 0, 10, None),
        "blocks mixed": Shown((2, 1, 2), "stuck", 0, 22, None, _FLOATS_TWICE),
        "keeps_no_sums": Shown((2, 1, 1), "liveness", 2, 19, "liveness"),
        "RepeatsAreSummed": Shown((2, 1, 1), "exactly_once", 1, 6, "bit_exact"),
        "FirstExponents": Shown((2, 1, 2), "stuck", 0, 3, None, _FLOATS_TWICE),
        "older block from the cache": Shown((2, 1, 2), "stuck", 0, 22, None, _FLOATS_TWICE),
        "ExponentsUnchecked": Shown((2, 1, 2), "bit_exact", 0, 13, None),
    },
}
"""protocol (`irn`: NetReduce over IRN) -> planted bug -> how it shows"""

OUTSIDE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "switchml": {
        "needs two jobs, or racks": (
            "OnePool",
        ),
        "needs a worker that sends ahead of the result that allows it": (
            "leaf RunsAhead",
        ),
        "no configuration that was tried shows it": (
            "ExponentsGrow", "leaf TellsOneRack",
        ),
    },
    "netreduce": {
        "needs NaN, infinity, zeros of both signs, subnormal numbers or sums that overflow, none of which is drawn": (
            "NanNotCanonical", "NanNotCanonicalInMax", "NanLosesInMax", "ZerosAlikeInMax", "FlushesSubnormals",
            "LosesNegativeZero", "InfinityIsTheLargest", "ClampsAtEachStep", "ClampsSymmetrically",
            "WrapsInsteadOfClamping",
        ),
        "changes the MSN of answers alone, which no rule here reads": (
            "msn_off_by_one", "msn_counts_packets", "msn_of_the_ack_before",
        ),
        "changes waits or retry budgets, which stay fixed here": (
            "rnr_wait_halved", "sends_while_it_waits", "retries_never_refilled", "rnr_spends_retries", "rnr_is_a_gap",
        ),
        "needs a packet that is damaged, or that changes when it is sent again": (
            "IcrcNotChecked", "ChangedPayloadTaken",
        ),
        "depends on a counter, which does not distinguish states": (
            "LostContribution",
        ),
        "no configuration that was tried shows it": (
            "ReplayToAll", "ReplayWithOldHeader", "MiddlesToPreviousMessage", "InferenceWithoutAnnouncement",
            "AckOriginated", "NakSwallowed", "ClearedSlotReplayed", "KeepsReleased", "ShortMessagesFull",
            "credit_on_ack", "no_hello", "acks_the_duplicate", "nak_for_each_packet", "no_nak_between_messages",
            "newest_answer_first", "believes_what_was_never_sent", "believes_any_nak", "naks_acknowledge_nothing",
            "goes_back_one_short",
        ),
    },
    "irn": {
        "changes the MSN of answers alone, which no rule here reads": (
            "duplicate_counted_as_a_message", "msn_before_the_gap_is_filled",
        ),
        "changes waits or retry budgets, which stay fixed here": (
            "rto_low_with_many_in_flight",
        ),
        "no configuration that was tried shows it": (
            "AnswersOfIrnSwallowed", "BitmapShiftedByOne", "SelectiveAnswersIgnored", "HolesAboveAllThatArrived",
            "EverythingLostAtOneTimer", "RecoveryLeftTooEarly", "gap_names_what_is_missing", "gaps_answered_once",
            "kept_packets_forgotten",
        ),
    },
    "atp": {
        "needs two jobs": (
            "FreesForAnyJob", "ReclaimsFromOthers",
        ),
        "needs NaN, infinity, zeros of both signs, subnormal numbers or sums that overflow, none of which is drawn": (
            "EarlierOverflowForgotten", "SaturatesSymmetrically", "earlier overflow forgotten", "OverflowUnheard",
        ),
        "its state has numbers that differ between equal Machines": (
            "CountsPackets",
        ),
        "no configuration that was tried shows it": (
            "ResendAllocates", "ResendKeepsTheSlot", "FreesOnEveryResult", "FreesBeforeTheResult", "ReclaimsNothing",
            "ReclaimsTheNewer", "ReclaimsWithinTheWindow", "workers never asked", "no reminder", "keeps_no_sums",
            "ReclaimsOneTooSoon", "ReclaimsOneTooLate", "ReclaimsInTheTensorOnly", "FlushesWithoutItsAsker",
            "FlushesTheAskerAlone", "CompletesOneShort", "TensorsAreAlike", "newer block from the cache",
            "overlap by equality", "complete one short", "repair of the newest",
        ),
    },
    "esa": {
        "needs two jobs": (
            "FreesForAnyJob", "ReclaimsFromOthers", "EvictsToTheWrongServer",
        ),
        "needs NaN, infinity, zeros of both signs, subnormal numbers or sums that overflow, none of which is drawn": (
            "EarlierOverflowForgotten", "earlier overflow forgotten", "OverflowUnheard",
        ),
        "its state has numbers that differ between equal Machines": (
            "CountsPackets",
        ),
        "no configuration that was tried shows it": (
            "ResendKeepsTheSlot", "FreesOnEveryResult", "NeverFrees", "FreesBeforeTheResult", "ReclaimsNothing",
            "results not kept", "ReclaimsTheNewer", "ReclaimsWithinTheWindow", "PreemptsOnATie", "EvictsAndCollides",
            "ReclaimAddsToTheGhost", "ReclaimEvicts", "RemindsAndKeeps", "workers never asked", "EvictsInSilence",
            "PreemptsNobody", "AgesNot", "PriorityInverted", "PriorityOfTheFirst", "AgesTheNewcomer",
            "ReclaimsOneTooSoon", "ReclaimsOneTooLate", "ReclaimsInTheTensorOnly", "FlushesWithoutItsAsker",
            "FlushesTheAskerAlone", "EvictsTheNewcomersPart", "RemindedAndCleared", "CompletesOneShort",
            "TensorsAreAlike", "newer block from the cache", "overlap by equality", "complete one short",
            "repair of the newest", "OneMoreThanTheWindow",
        ),
    },
}  # fmt: skip
"""protocol -> why no search here shows them -> planted bugs"""
