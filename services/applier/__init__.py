"""The applier: the only one that writes to Kubernetes."""
