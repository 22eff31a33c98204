// Package scenario performs the main job on a world and measures it: it applies manifests as
// kubectl does, scales workloads, interrupts nodes, and prints a timeline of the cluster and of
// EC2.
//
// It depends on the world through small interfaces only. The storm, the comparison with Karpenter
// and the takeover checks are here too.
package scenario
