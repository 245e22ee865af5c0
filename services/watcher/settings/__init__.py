"""What administrators set up as facts: queues, flavors, checks, prices, HAMi's configuration; and which kinds are watched."""
