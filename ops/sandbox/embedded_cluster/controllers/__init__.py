"""The controllers of Kubernetes that the embedded cluster has, one a module"""
