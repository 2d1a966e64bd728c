"""report — shows simulations as a table, as data, and as one page with plots.

    sides    outcomes that belong together, their figures, and how two sides differ
    data     the same as plain values, for JSON and YAML
    text     the same as tables for a terminal
    plots    lines over time, as SVG
    page     one HTML file that needs nothing else

Rule: whatever comes from a scenario is escaped where it is written into a page, and nowhere else.
"""
