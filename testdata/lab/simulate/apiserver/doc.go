// Package apiserver is a small model of the Kubernetes API server for the simulation. It is a fake: it
// holds objects in memory and answers what Whittle's functions ask.
//
// A Store has the objects and their history. Server answers HTTP requests from it in the calling
// goroutine, without sockets, goroutines or a clock of its own. The model is unkind where Kubernetes
// allows it: cached reads lag behind by server, watches are late, and old versions are forgotten.
//
// The model refuses by name what it does not know. It ignores nothing, so that no function can rely on
// an answer that Kubernetes would not give.
package apiserver
