package scheduling

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// wellKnown are the labels that a node gets from what it is: a NodePool need not mention them for a pod to ask for them.
var wellKnown = func() map[string]bool {
	keys := map[string]bool{}
	for _, key := range api.WellKnownLabels() {
		keys[key] = true
	}
	return keys
}()

// NormalizeKey gives the present name of a label: beta.kubernetes.io/arch is kubernetes.io/arch. Other keys come back as they are.
func NormalizeKey(key string) string { return api.NormalizedLabel(key) }

// IsWellKnown reports whether nodes get this label (normalised or not) from what they are, without a NodePool's saying so.
func IsWellKnown(key string) bool { return wellKnown[NormalizeKey(key)] }

// nearestKey is the key most like the given one among those known: for a key that was mistyped or lacks its prefix. It is empty if none is near.
func nearestKey(key string, known func(yield func(string) bool)) string {
	best, bestDistance := "", len(key)/3+1
	suffix := key[strings.LastIndex(key, "/")+1:]
	for candidate := range known {
		distance := editDistance(key, candidate)
		if candidate[strings.LastIndex(candidate, "/")+1:] == suffix {
			// The same name behind another prefix is the commonest slip of all.
			distance = min(distance, 1)
		}
		if distance < bestDistance || distance == bestDistance && best != "" && candidate < best {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance is Levenshtein's: how many bytes must be put in, taken out or changed.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
