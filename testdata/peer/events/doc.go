// Package events compares the conditions of Whittle's Kubernetes events with Karpenter's, event by
// event. The rows are in events.yaml. The test reads what Karpenter's constructors return from
// the source of its modules, and writes the page events.md of the folder above.
package events
