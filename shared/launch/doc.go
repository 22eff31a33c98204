// Package launch turns a NodeClaim, or a batch of equal ones, into a request for instances: launch
// templates, and the instance types in subnets that may be launched from each, under one client
// token. It is pure. Package fleet sends the request to EC2.
//
// Build chooses the offers of a request through filters, in Karpenter's order. Groups and Assign
// divide claims into requests, and instances among claims.
//
// Invariants: equal input gives the same request, byte for byte, so that EC2 recognizes a repeated
// call by its token. Equal answers give the same instances to the same claims.
package launch
