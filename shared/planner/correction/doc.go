// Package correction corrects placements after packing.
//
// topology.Divide binds pods to domains before any node is packed. That is quick and mostly right.
// Sometimes a domain gets no node because of a limit, or a pod has to follow another one to its
// host. RetractViolations then takes back the placements that break a constraint, and PlaceSingly
// places the waiting units one at a time, wherever that is legal beside all others. The planner
// repeats both for a few rounds. RetractViolations comes first, because it also records which units
// have places, and PlaceSingly measures by that.
package correction
