"""Why a group is as it is and what would help: findings, their causes, and remedies with risk and gain."""
