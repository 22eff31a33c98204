// Package relations tells which pods have to be planned together. Two pods are related if the
// topology spread constraints or the affinity of one count the other.
//
// It is a leaf of the pipeline of package consolidation: it reads pods and knows neither nodes nor
// prices. An Index is read once from the whole cluster and answers for any of its pods.
//
// Invariant: pods that share no selector number place no condition on each other. The reverse does
// not hold. Namespaces are ignored, so that Of may report a relation that does not exist.
package relations
