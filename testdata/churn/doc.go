// Package churn measures what a cluster costs in which pods come and go all day: Jobs, or Deployments that follow
// the sun. The plugins of kube-scheduler place the pods, Whittle's planner buys the nodes, and its consolidation
// gives them back. Time is virtual, and there is neither an API server nor EC2.
//
// kube-scheduler spreads pods over the emptiest nodes, and consolidation restarts Jobs to empty a node again. Both
// cost money that no plan shows. A Day counts it.
//
// The package is a module of its own, because of kube-scheduler.
package churn
