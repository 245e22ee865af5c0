"""Cards: how HAMi annotates them, what pods request, whether and where it fits, and what each workload holds."""
