"""compare.audit"""
