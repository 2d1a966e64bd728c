"""testing — clusters in a few words: builders for code, scenario files for people.

Rule 1: nothing here is random; the same words make the same cluster.
Rule 2: builders and scenario files speak one language (`given.py`), so that what a test says can
        be moved into a scenario, and back.
"""

from __future__ import annotations

from dovetail.testing.builders import (
    deployment,
    instance_type,
    node,
    node_pool,
    pod,
    snapshot,
)
from dovetail.testing.scenario import Scenario, is_scenario, load, parse
from dovetail.testing.want import Want
