"""The custom resource definitions of kueue.x-k8s.io, made from the API structs."""
