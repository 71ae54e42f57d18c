"""What was paid for is counted once, in whichever life it was."""

from fairwitness.models.ledger import Ledger, Usage


def test_an_answer_is_paid_for_once() -> None:
    ledger = Ledger()
    ledger.add_answer("a", Usage(tokens=5, cost=0.5))
    ledger.add_cached("a", Usage(tokens=5, cost=0.5))
    ledger.add_cached("b", Usage(tokens=7, cost=0.25))
    ledger.add_cached("b", Usage(tokens=7, cost=0.25))
    ledger.add_cached()
    found = ledger.as_dict()
    assert (found["answered"], found["cached"]) == (1, 4)
    assert (found["tokens"], found["cost"]) == (5, 0.5)
    assert (found["tokens_before"], found["cost_before"]) == (7, 0.25)
