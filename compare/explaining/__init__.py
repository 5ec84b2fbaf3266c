"""Why a group is as it is and what would help; what came of a run, in sentences. Nothing here prints."""
