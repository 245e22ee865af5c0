"""The pods that are placed by topology as they were last seen, and which may be let through to which domain."""
