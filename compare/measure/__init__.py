"""Every figure: fairness and optimum, on numpy or Spark; of observed groups (`groups`) and simulated runs (`runs`)."""
