"""Which partition decides about which queue."""
