// Package launching carries out attempts to launch instances for NodeClaims. The package attempt
// decides the steps, and the function provision says which claims are launched.
//
// Create writes claims: the intent, before anything is asked of EC2. Launch takes the claims'
// groups, some at once. For each it works through a list of tries. A try is one attempt, whose
// steps are carried out one by one. Each step returns what follows from it: further steps of the
// try, and groups to try next. Launch returns what came of all of them.
//
// The launches of one call tell each other two facts: what EC2 lacks, and that EC2 asks for fewer
// calls, which stops the launches that have not begun.
package launching
