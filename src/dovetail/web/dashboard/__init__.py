"""The page that shows the cluster: what it is told, and how it is served."""
