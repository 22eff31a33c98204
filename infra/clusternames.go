package infra

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// maximumClusterName is EKS's limit, in characters.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
const maximumClusterName = 100

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
		switch {
		case len(name) > maximumClusterName:
			return fmt.Errorf(
				"%q has %d characters, EKS allows %d: give the name that `aws eks list-clusters` prints", name, len(name),
				maximumClusterName,
			)
		case !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`).MatchString(name):
			return fmt.Errorf(
				"%q is no name of an EKS cluster (letters, digits, - and _, a letter or digit first): give the name that "+
					"`aws eks list-clusters` prints",
				name,
			)
		case seen[name]:
			return fmt.Errorf("%q is given twice: name each cluster once", name)
		}
		seen[name] = true
	}
	return nil
}
