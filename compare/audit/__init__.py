"""`equipoise audit`: read what admin tools print, judge every group, show the worst first."""
