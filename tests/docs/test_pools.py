"""The page about default NodePools has every value of their chart."""

from __future__ import annotations

import re

from tests.docs.test_install import ROOT, rows

PAGE = (ROOT / "docs" / "pools.md").read_text(encoding="utf-8")
VALUES = ROOT / "charts" / "dovetail-pools" / "values.yaml"


def test_every_value_of_the_chart_of_pools_is_documented() -> None:
    """With its default and what it means, as the file of values says."""
    wanted = list(rows(VALUES))
    assert len(wanted) > 20
    assert [row for row in wanted if row not in PAGE] == []
    assert len(re.findall(r"^\| `[\w.]+` \| `", PAGE, re.MULTILINE)) == len(wanted)
