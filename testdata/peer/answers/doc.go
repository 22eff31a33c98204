// Package answers says what Whittle makes of each part of Karpenter's interface. Its test compares
// answers.yaml with Karpenter's modules.
package answers
