"""Fields that several kinds have: names, selectors, conditions, pod sets, resource groups; and fields that no kind has."""
