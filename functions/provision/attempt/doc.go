// Package attempt decides about attempts to launch instances for NodeClaims. An attempt is one
// CreateFleet request, for a batch of equal claims or for one claim by itself, under one client
// token. The function provision reads the claims, asks EC2, and carries out the steps that this
// package returns. The package is pure.
//
// Begin decides how an attempt begins, and Answered decides about EC2's answer. NotFound and
// NoOffering are the branches between them.
//
// Invariants: the steps are carried out in their order and may be cut off after any of them. The
// next pass then finds the claims without an instance, and repeats the request with its token. EC2
// answers with the same instances. A claim that EC2 may have been asked for is never deleted
// without its finalizer, which holds it until lifecycle has looked for its instance.
package attempt
