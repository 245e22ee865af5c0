"""The log on NATS JetStream, and its twin in memory."""
