package infra

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

// clusterNames returns the names in the given order, and the place where the user wrote them. The
// context overrides the file.
func clusterNames(f *file, lookup func(key string) any) (names []string, where string, err error) {
	value, where, mend := lookup("clusters"), "context clusters", "-c clusters=prod,staging"
	if value == nil && f.shared("clusters") != nil {
		value, where, mend = f.shared("clusters"), f.name()+": clusters", "clusters: [prod, staging]"
	}
	switch given := value.(type) {
	case nil:
	case map[string]any:
		names = slices.Sorted(maps.Keys(given))
	default:
		names, err = list(value)
	}
	if err == nil {
		err = checkClusterNames(names)
	}
	if err != nil {
		return nil, where, fmt.Errorf("%s: %w: write it as in %s", where, err, mend)
	}
	return names, where, nil
}

func checkClusterNames(names []string) error {
	if len(names) == 0 {
		return errors.New("no cluster given: name the EKS clusters to watch")
	}
	seen := map[string]bool{}
	for _, name := range names {
		if err := cfntemplate.CheckCluster(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%q is given twice: name each cluster once", name)
		}
		seen[name] = true
	}
	return nil
}
