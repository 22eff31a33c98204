// Package attacks has tests alone. They try on a real API server, with NodeRestriction, the Node authorizer
// and the installed objects, what the kubelet of a compromised node, a tenant and Whittle's own functions
// could write.
package attacks
