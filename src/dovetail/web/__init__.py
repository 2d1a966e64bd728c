"""web — what is served over HTTP. It shows what others worked out, and decides nothing."""
