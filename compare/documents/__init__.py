"""The JSON documents that the verbs write and read back, field by field: types alone, which everything else may use."""
