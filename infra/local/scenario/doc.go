// Package scenario shows and checks the main job on a world: it applies
// manifests as kubectl would, scales a workload, interrupts a node, and keeps a
// timeline of what the cluster and EC2 made of it.
package scenario
