// Package catalog computes the instance types that the nodes of an EC2NodeClass can have: their
// labels, capacity, allocatable resources, and the offerings with prices.
//
// Its place: functions/catalog fills a Catalog from EC2's answers, and inventory stores it.
// Resolve turns the Catalog, a class and recent observations into InstanceTypes for the planner
// and for consolidation.
//
// Invariants:
//   - The result depends on the arguments only. The caller passes the time.
//   - An unknown price makes an offering unavailable. Resolve keeps such types, so that a plan can
//     explain why it did not use them.
//   - Allocatable is never more than the node will have, as far as AWS documents it. A node that
//     was observed with less memory replaces the estimate.
package catalog
