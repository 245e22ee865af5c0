"""Nodes and who works for them: the scheduler with HAMi's part, the kubelet, and what befalls them"""
