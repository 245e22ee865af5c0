"""How it runs: the bus, the cluster, the command line, the wiring."""
