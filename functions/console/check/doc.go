// Package check says what of an account and a cluster stands in the way of a first deployment. It is
// pure: Findings turns what was read into lines, each with the remedy.
//
// Its place: the command `whittle check` reads the Facts, by package account, and prints the
// findings.
//
// Invariant: a fact that could not be read gives an unknown line that names the missing right, and
// never an ok.
package check
