"""Objects by chance that may not be stored, put before the webhooks of Kueue and of kuelog."""
