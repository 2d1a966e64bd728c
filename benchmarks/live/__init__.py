"""live — what the controller does on a real control plane, beside the Go program."""
