// Package dense has the planner's data structures over small numbers: bit sets, tables that number
// byte strings, arenas that hand out slices, and a radix sort. It knows nothing of Kubernetes.
package dense
