// Package fleet is the EC2 edge: it launches, lists, tags and terminates instances, and reads the
// subnets, groups, images and reservations that an EC2NodeClass selects.
//
// Its place: provision and lifecycle pass decisions in (a launch.Request, an instance id) and get
// plain values back. The package decides nothing, except how to classify EC2's errors.
//
// Invariants:
//   - Repeating a call after a crash, or running it twice at once, has the effect of one call.
//     Launches rely on the client token, and deletions treat a missing object as success.
//   - Each error is classified once, here. IsGone means that the object does not exist. IsThrottled
//     means that AWS refused the call because of its rate, after the SDK's own retries. A Failure
//     is a refusal that needs a person, and a Shortage is a lack of capacity. Others may pass.
//   - An empty list proves nothing: EC2 shows new instances and tags some seconds late. Only Describe,
//     which asks by id and without filters, tells that an instance has ended.
package fleet
