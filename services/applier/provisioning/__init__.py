"""ProvisioningRequests, by which a cluster autoscaler is asked for nodes."""
