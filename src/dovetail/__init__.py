"""Dovetail: a node autoscaler for Kubernetes that speaks Karpenter's API."""
