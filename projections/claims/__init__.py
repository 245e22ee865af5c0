"""Devices that drivers publish, what claims were given of them, and by whom they are held"""
