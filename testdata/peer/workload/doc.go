// Package workload makes the snapshots that planners are compared on. Equal arguments give equal
// snapshots, on any machine.
package workload
