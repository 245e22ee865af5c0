"""What pods and quotas ask of cards, where HAMi would refuse it or drop it silently."""
