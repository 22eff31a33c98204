package scheduling

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nearest"
)

// wellKnown holds the labels that follow from a node's instance type and offering. A pod may
// require them although its NodePool does not name them.
var wellKnown = func() map[string]bool {
	keys := map[string]bool{}
	for _, key := range api.WellKnownLabels() {
		keys[key] = true
	}
	return keys
}()

// NormalizeKey returns the stable key for a beta key, such as kubernetes.io/arch for
// beta.kubernetes.io/arch, and any other key unchanged.
func NormalizeKey(key string) string { return api.NormalizedLabel(key) }

// IsWellKnown reports whether nodes get the label from their instance type and offering. The key
// need not be normalised.
func IsWellKnown(key string) bool { return wellKnown[NormalizeKey(key)] }

// nearestKey returns the known key that is most similar to a mistyped one, or an empty text where
// none is similar.
func nearestKey(key string, known func(yield func(string) bool)) string {
	best, bestDistance := "", len(key)/3+1
	suffix := key[strings.LastIndex(key, "/")+1:]
	for candidate := range known {
		distance := nearest.Distance(key, candidate)
		if candidate[strings.LastIndex(candidate, "/")+1:] == suffix {
			// The same name with another prefix is the most common mistake.
			distance = min(distance, 1)
		}
		if distance < bestDistance || distance == bestDistance && best != "" && candidate < best {
			best, bestDistance = candidate, distance
		}
	}
	return best
}
