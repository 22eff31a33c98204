// Package provisioningrequest decides on ProvisioningRequests: which pods one asks for, how far it is, and
// what its conditions say.
//
// A request is a gang of virtual pods (package virtual). Until nodes have room for all of them, a plan
// places all or none. After that the room is booked: the pods keep their nodes until real pods have
// come, or ten minutes have passed.
//
// Its place: package sight reads the requests and their PodTemplates. Provision plans for their pods,
// and writes the conditions. Disrupt keeps their nodes.
//
// Invariants:
//   - Provisioned becomes True only when every node is initialized.
//   - Failed never follows Provisioned: Kueue would evict the job that runs.
//   - Every request comes to an end: it is provisioned, or fails failsAfter its acceptance, or once
//     the nodes that boot for it are lost.
package provisioningrequest
