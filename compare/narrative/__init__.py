"""compare.narrative"""
