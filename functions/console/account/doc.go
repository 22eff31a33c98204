// Package account reads, as the deployer, what `whittle check` judges: the account, its network and
// the cluster. It is an edge package: package check decides.
//
// Invariant: it only reads. Each fact is read by itself, so that a missing right hides one fact.
package account
