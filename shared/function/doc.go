// Package function has what every Lambda function of Whittle needs around its handler: its
// surroundings, settings, the log, the start by Lambda or by hand, the connection to the cluster, and
// batches of queue messages.
//
// A function is a package. Its New takes Deps, reads the Settings, makes the clients by the methods of
// Deps, and returns a handler. The program in the folder cmd passes the handler to Run. Standby and
// OnePass wrap handlers.
//
// Invariants: a dry run holds here, at the two places where a function reaches out, so that no
// function can forget it. Retries and pauses end with the invocation.
package function
