// Package snapshot makes of a cluster's objects what the planner plans from: which
// pods wait, which node belongs to which claim, which nodes are leaving and which of
// their pods need a place elsewhere, and what the NodeOverlays make of the instance
// types. It is pure; where the objects come from, the API server or files, is all the
// same to it.
package snapshot
