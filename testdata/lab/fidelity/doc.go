// Package fidelity measures how faithfully bursts of pods run where the plan has them. It creates
// random bursts in the local world, whose scheduler is the real kube-scheduler and whose machines
// boot at different times. It counts the launches that no plan wanted, and their price.
//
// Pods makes a burst from a seed, and Judge scores it. Both are pure. Run does the rest.
package fidelity
