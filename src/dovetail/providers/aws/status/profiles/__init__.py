"""profiles — instance profiles of node classes: created for a role, kept, and collected."""
