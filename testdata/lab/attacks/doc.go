// Package attacks tries what a compromised node, a tenant and a principal of the account could reach. Its
// tests run against a real API server. All lists every attack with the test that shows its bound, and the
// fault that would let it through. The threat model of the stack is written from that list.
package attacks
