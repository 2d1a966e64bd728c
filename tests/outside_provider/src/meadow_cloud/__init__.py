"""meadow_cloud — a small cloud, to show what a provider of another package consists of."""
