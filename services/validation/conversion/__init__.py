"""Objects of one version of the API as another."""
