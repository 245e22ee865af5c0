"""A Kubernetes API in memory with small controllers behind it: the cluster of demos and tests."""
