"""Places for pods in the topology of a data centre: racks, blocks, hosts (docs/rules/topology.md)."""
