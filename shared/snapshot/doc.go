// Package snapshot turns the objects of a cluster into the input of the planner and of disruption:
// pending pods, nodes joined with their claims, leaving nodes and their pods, and instance types
// with NodeOverlays applied.
//
// Its place: observe reads the objects from the API server and the command line reads them from
// files; this package assembles them; plan, consolidation and disruption take the result.
//
// Invariants:
//   - It changes no object, except for defaults of pools and classes where a comment says so.
//   - The same objects and time give the same snapshot, whatever their source and order.
package snapshot
