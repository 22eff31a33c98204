// Package nodestate is the one source of words for what a node is and what happens to it. The status
// and its live view, the explanation of a node, the page and the local run say the same word for the
// same thing.
//
// A node has one state, which is the last step of its life. It has any number of marks, which say what
// is to happen to it, or what keeps it. Steps are what happened at a time: events, log lines and
// timelines.
//
// Its place: the console and the local world import it. It is a deciding package: objects and a time go
// in, words come out.
package nodestate
