"""Nodes as pods meet them: which taints, labels and selectors let a pod on."""
