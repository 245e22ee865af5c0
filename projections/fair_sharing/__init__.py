"""How unequal the shares of queues and cohorts are, in exact numbers."""
