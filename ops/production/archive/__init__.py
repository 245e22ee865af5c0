"""The log outlives its streams: signed checkpoints, archives that prove themselves, backups and what is restored from them."""
