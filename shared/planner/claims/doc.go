// Package claims writes planned nodes as NodeClaims. It is the planner's last stage.
//
// Write takes the planned nodes of a placement.State, with their fills. It returns a
// plan.PlannedNodeClaim for each, and assigns the pods of each demand to its nodes. The planner
// sorts the claims with Sort.
//
// A planned node has one offering, the cheapest that holds its fills. Its claim keeps further
// alternatives, so that EC2 can choose one that it has capacity for. A claim names them as lists of
// instance types, zones and capacity types, and as the requirements that provision sends to EC2.
//
// # Invariants
//
//   - Every instance that a claim's requirements allow can hold the planned pods. All claims
//     together are within the limits of their NodePools, whatever instances they become.
//   - A claim has one capacity type and at most MaximumTypes instance types. A NodePool with
//     minValues may need more of both.
//   - The first of a claim's offerings is the cheapest. Its price is the claim's price.
//   - Claims share lists and maps, except for annotations. Callers must not change these.
//   - The same nodes give the same claims. Claims have a generateName and no name.
//
// # Terms
//
//   - alternatives of a node: the offerings that could replace its own, since they hold its fills.
//   - choices: the alternatives that a claim keeps.
//   - slack: what other nodes and the limits of the NodePool leave for a node's choices.
//   - base requirements: those of the NodePool and of the pods, without the choices.
//   - user label: a label that Kubernetes, Karpenter and AWS do not define.
package claims
