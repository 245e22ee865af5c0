"""Webhooks: what the API server asks before it stores an object, and certificates that make it believe the answers."""
