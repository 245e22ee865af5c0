"""How long claims held devices, and on whose account"""
