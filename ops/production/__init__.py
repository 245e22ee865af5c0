"""What runs beside a cluster: the bus, the Kubernetes client, what is served over HTTP, and the wiring of the services."""
