// Package scale makes a large cluster for measurements: realistic nodes and pods, and an API server
// for the pods.
//
// The nodes, their claims and their instances are objects of the local world. Its API server and its
// controllers would need minutes and gigabytes for a hundred thousand pods more. Therefore a fake
// stands before the API server. It lists the pods itself, and passes on every other request. The
// fake says that it is one.
package scale
