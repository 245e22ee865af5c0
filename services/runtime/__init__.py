"""What every decider runs on: the fold of its partition, its host, its outbox, its ports, and what can go wrong with them."""
