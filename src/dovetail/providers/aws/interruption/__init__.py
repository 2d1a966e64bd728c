"""Learns which instances will be gone, and which zones are to be left: queue, checks, shifts."""
