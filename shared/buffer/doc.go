// Package buffer turns CapacityBuffers into the pods that they keep room for.
//
// These pods are virtual: see package virtual. Their priority is the lowest, so that real pods come
// first where a limit leaves some out.
//
// Its place: package sight reads the buffers and what they name. Provision plans for their pods, and
// writes what it has found on the buffers. Disrupt keeps their nodes.
//
// Invariant: a buffer that cannot be resolved has a condition that names its field, and no pods. Other
// buffers have theirs.
package buffer
