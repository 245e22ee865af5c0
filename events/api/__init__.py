"""The objects of Kubernetes and Kueue as they stand in manifests and on the API."""
