package fairness

// InTurn returns the items in another order: the first of each namespace, then the second of each, and so
// on. Within a namespace, and between namespaces, items keep their order. The list itself stays as it is.
func InTurn[T any](items []T, namespaceOf func(*T) string) []T {
	rounds := make([]int, len(items)) // by the item's place
	seen := map[string]int{}
	most := 0
	for i := range items {
		namespace := namespaceOf(&items[i])
		rounds[i] = seen[namespace]
		seen[namespace]++
		most = max(most, seen[namespace])
	}
	if len(seen) < 2 {
		return items
	}
	begins := make([]int, most+1) // by the round
	for _, round := range rounds {
		begins[round+1]++
	}
	for round := range most {
		begins[round+1] += begins[round]
	}
	ordered := make([]T, len(items))
	for i, round := range rounds {
		ordered[begins[round]] = items[i]
		begins[round]++
	}
	return ordered
}
