"""What is known of each EC2 type? One row of `table.tsv`, which `tools/make_aws_table.py` makes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

_TABLE: Final = Path(__file__).with_name("table.tsv")


class Row(msgspec.Struct, frozen=True, gc=False):
    """The figures of one type. Zero and empty mean that it has none of the thing."""

    name: str
    arch: str
    vcpus: int
    memory_mib: int
    cpu_maker: str
    clock_mhz: int  # 0: not published
    hypervisor: str  # empty: bare metal
    enis: int  # on the default network card
    ipv4_per_eni: int
    network_mbps: int  # baseline, all network cards together
    ebs_mbps: int  # 0: not optimised for EBS by default
    efas: int
    nvme_gb: int
    gpus: int
    gpu_name: str
    gpu_maker: str
    gpu_mib: int  # of one GPU
    neurons: int
    neuron_name: str
    neuron_cores: int  # of one device
    encrypts_transit: bool
    has_enclaves: bool
    volume_slots: int  # root volume included
    shares_slots: bool  # network interfaces take volume slots
    has_spot: bool
    price_nanousd: int

    @property
    def family(self) -> str:
        """What stands before the dot: `m5` of `m5.large`."""
        return self.name.partition(".")[0]

    @property
    def size(self) -> str:
        """What stands after the dot: `large` of `m5.large`."""
        return self.name.partition(".")[2]


@lru_cache(maxsize=1)
def rows() -> tuple[Row, ...]:
    """Every type of the table, by family and size."""
    header, *lines = _TABLE.read_text(encoding="utf-8").splitlines()
    columns = header.split("\t")
    cells = [dict(zip(columns, line.split("\t"), strict=True)) for line in lines]
    return tuple(msgspec.convert(cells, list[Row], strict=False))
