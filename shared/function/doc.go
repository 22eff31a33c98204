// Package function has what every Lambda function of Whittle needs around its handler: settings,
// the log, the start by Lambda or by hand, the connection to the cluster, and batches of queue
// messages.
//
// A function's main.go reads Settings, makes the clients from Configuration and NewConnection, and
// passes its handler to Run. Standby and OnePass wrap the handler.
//
// Invariants: a dry run holds here, at the two places where a function reaches out, so that no
// function can forget it. Retries and pauses end with the invocation.
package function
