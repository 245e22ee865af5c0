"""What device plugins say of a node: its cards, their health, the handshake and the lock."""
