"""How often things happened to workloads and how long they took, by queue."""
