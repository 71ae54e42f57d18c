"""FAIRWITNESS_THOROUGH=1 runs what takes minutes: every audit on the cluster, all the moments at which a run can die."""

import os

import pytest

THOROUGH = os.environ.get("FAIRWITNESS_THOROUGH", "") not in ("", "0")
only_thorough = pytest.mark.skipif(not THOROUGH, reason="takes long; FAIRWITNESS_THOROUGH=1 runs it")
