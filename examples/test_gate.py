"""The same limits in pytest: installing Fair Witness brings the fixture `assert_gap`. Run examples/gate_in_ci.py first.

pytest examples/test_gate.py
"""


def test_women_are_not_flagged_more_often(assert_gap) -> None:
    assert_gap("runs/gate", "statistical_parity_difference", attribute="women", most=0.25)


def test_false_alarms_are_alike_or_we_cannot_say(assert_gap) -> None:
    assert_gap("runs/gate", "false_positive_rate_difference", most=0.2, unsure="skip")
