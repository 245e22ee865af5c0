"""The boards for Grafana, one subject each"""
