"""The exception tree and the words behind an error."""

from fairwitness import errors


def test_one_root_and_its_exit_codes() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FairWitnessError)]
    assert len(kinds) >= 7
    assert {kind.__name__: kind.exit_code for kind in kinds if kind.exit_code != 2} == {"EvidenceError": 3}
    for kind in kinds:
        assert kind.__name__ in (errors.__doc__ or "")


def test_a_missing_extra_says_what_to_type() -> None:
    assert "pip install 'fairwitness[hf]'" in str(errors.MissingExtraError("torch", "hf", "Scoring"))


def test_suggestions_are_near_or_absent() -> None:
    assert errors.suggestion("jigsw", ["jigsaw", "civil"]) == " Did you mean 'jigsaw'?"
    assert errors.suggestion("x", []) == ""
    assert errors.listing([]) == ""
