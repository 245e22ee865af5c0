"""A nats-server as a child process: started, kept at work, and three of them as a cluster"""
