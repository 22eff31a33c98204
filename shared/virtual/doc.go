// Package virtual has pods that exist in plans only: what a CapacityBuffer keeps room for, and what a
// ProvisioningRequest asks for.
//
// Its place: packages buffer and provisioningrequest make virtual pods. Provision plans for them
// together with those that wait. Disrupt binds them to nodes in what it reads, so that emptiness and
// consolidation treat them as pods.
//
// Invariants:
//   - The UID of a virtual pod is one that no pod of an API server has. See scheduling.IsVirtual.
//   - Nobody writes an event or an object about one.
package virtual
