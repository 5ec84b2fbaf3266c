"""compare.console"""
