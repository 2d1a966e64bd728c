"""cli.migration — commands for teams that come from Karpenter."""
