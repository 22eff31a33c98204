// Package topology meets the constraints between pods over zones and other labels: spread, affinity
// and anti-affinity. Constraints over hosts belong to package placement, which keeps them while it
// fills nodes.
//
// Divide comes first. It turns pod groups into demands before any node is packed, and binds each
// demand to the domain that levels its spread or brings it to the pods of its affinity. A pod that
// another pod's constraint counts is bound as well, so that all counts are exact.
//
// Pods may then land elsewhere than expected. Violations says which placements a constraint forbids
// in the end; package correction takes those back. Record and Remove keep the counts up to date.
//
// The package reads nodes and demands from placement.State. It adds demands there, and changes
// nothing else.
//
// Terms:
//
//   - domain: a value of a topology key, such as one zone.
//   - part: some units of a pod group, with the domains that they may still use.
//   - counter: the pods of a pod selector in each domain of a key, running and planned.
//   - skew: a spread's counts, with the domains that it measures.
//   - uncertain demand: a demand whose pods may land on nodes that a counter counts, and on others.
package topology
