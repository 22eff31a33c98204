// Package sight reads a cluster into what a plan is made from. It is the one road from the objects to a
// decision: provision, disrupt, the command line and tests read through it, and plan with package
// planning.
//
// Its place: it is an edge package. It reads through a Reader, and package snapshot puts the objects
// together. Read serves the pods that wait, ReadFleet the nodes that may go. Both return values, and
// neither writes. Provision writes what a view has found, afterwards.
//
// Read goes in this order, since each step needs those before it:
//
//  1. Objects and facts are read at once. Nominations of Whittle's own are forgotten.
//  2. The offer: pools that may get nodes, with their types and prices. The other pools have a reason.
//  3. The snapshot: pods that wait, nodes, and claims without an instance. Pods of leaving nodes that were
//     resized in place count with the requests of their controller's template.
//  4. Pods for which a ProvisioningRequest has room leave. The virtual pods of requests and of
//     CapacityBuffers join.
//  5. Pods without spread constraints get the default ones.
//  6. Details are read: volumes and namespaces, where a pod needs them. What was not read is marked.
//  7. Misfits are noted, and held until their time. They need the volumes.
//  8. Gangs are read. Pods whose PodGroup cannot be read are held.
//
// The API server's watch cache serves most lists, so that their objects may be a moment old. A reader of
// a consistent client reads past it.
package sight
