"""units — text to exact integers and back: quantities, durations, money, cron.

Rule 1: what a manifest writes is read here, once, and nowhere else.
Rule 2: no floats on the way; what does not fit is rounded up, as Kubernetes does.
"""
