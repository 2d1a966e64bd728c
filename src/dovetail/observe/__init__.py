"""observe — what is told to whoever watches: logs, events and metrics.

Nothing here decides, and nothing here can stop a controller: telling never blocks and never raises.
"""
