"""The log on NATS JetStream: a connection, the streams on it, how they are read, rolled and kept from filling up"""
