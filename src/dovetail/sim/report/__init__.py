"""report — shows simulations as a table, as data, and as one page with plots.

    sides    outcomes that belong together, their figures, and how two sides differ
    data     the same as plain values, for JSON and YAML, and as tables for a terminal
    page     one HTML file that needs nothing else, with lines over time as SVG

Rule: whatever comes from a scenario is escaped where it is written into a page, and nowhere else.
"""
