"""What proves a log: keys, signed checkpoints, the witness that keeps them, and stamps of others on them"""
