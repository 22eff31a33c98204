// Package day lets an autoscaler serve one compressed day of one cluster, and measures what the day
// cost and how its pods fared.
//
// A plan comes from a seed and has a time for each step: the web load follows the sun, Deployments
// roll out, Jobs come and go, a node is unhealthy for an hour, and EC2 warns spot instances. At noon
// the class gets another image, so that all nodes drift. One NodePool is at its limits for a part of
// the day. Two autoscalers that follow one plan have the same workload.
//
// The plan, the evaluation and the law are pure functions. The other files act on the cluster and
// record it.
package day
