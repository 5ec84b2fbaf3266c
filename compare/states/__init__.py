"""compare.states"""
