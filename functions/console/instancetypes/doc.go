// Package instancetypes reads the instance types for a plan from a file: in Karpenter's kwok form,
// in the snapshot form, or as the catalogue of a cluster. Without a file it has a built-in table.
//
// Its output, a Table, gives the planner the types of each NodePool. Prices are those before
// NodeOverlays.
package instancetypes
