"""What a guided hunt says at its end."""

from __future__ import annotations

from testbed.hunt.corpus import COMMON, Corpus, Met
from testbed.hunt.guided_summary import guided_document, guided_lines
from testbed.hunt.tape import Genome

FRESH, CHILD = Genome("t"), Genome("u", (1,), parent=0)
TWICE, ONCE = "step slot filling/new", "step slot filling/repeat"


def corpus(*ran: tuple[Genome, tuple[str, ...]]) -> Corpus:
    learnt = Corpus()
    learnt.learn(0, [(genome, Met(2, 10, behaviours)) for genome, behaviours in ran])
    return learnt


def test_what_only_mutated_schedules_met_is_counted_apart() -> None:
    document = guided_document(corpus((FRESH, ("a",)), (CHILD, ("a", "b"))), "switchml")
    assert (document["behaviours"], document["by_mutation_alone"], document["fresh"]) == (2, 1, 1)
    assert document["last_new"] == 1


def test_the_rule_says_stop_when_new_things_have_become_rare() -> None:
    many = [(FRESH, ("a",))] * 500
    assert guided_document(corpus(*many), "switchml")["may_stop"]
    assert not guided_document(corpus(*many, (FRESH, ("b",)), (FRESH, ("c",))), "switchml")["may_stop"]
    assert not guided_document(corpus(*many[:100]), "switchml")["may_stop"], "too few to know"


def test_steps_are_listed_with_how_many_kinds_of_faults_preceded_them() -> None:
    met = f"{TWICE} | fault none | phase first", f"{TWICE} | fault loss | phase later", f"{ONCE} | fault loss | phase x"
    document = guided_document(corpus((FRESH, met)), "switchml")
    assert document["steps_by_fault"][TWICE[5:]] == 2
    text = "\n".join(guided_lines(document))
    alone = next(line for line in text.splitlines() if "one kind of fault alone" in line)
    assert ONCE[5:] in alone
    assert TWICE[5:] not in alone


def test_marks_that_were_never_reached_are_zero_and_common_ones_say_so() -> None:
    text = "\n".join(
        guided_lines(guided_document(corpus(*[(FRESH, ("sometimes hit after the end",))] * COMMON), "atp"))
    )
    assert f"hit after the end {COMMON} or more" in text
    assert "failed after a result 0" in text


def test_the_curve_has_few_points_and_ends_at_the_end() -> None:
    learnt = Corpus()
    for generation in range(40):
        learnt.learn(10 * generation, [(FRESH, Met(1, 1, (str(generation),)))] * 10)
    curve = guided_document(learnt, "atp")["curve"]
    assert curve[0] == [10, 1]
    assert curve[-1] == [400, 40]
    assert len(curve) < 9
    assert curve == sorted(curve)
