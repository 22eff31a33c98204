package cluster

import "k8s.io/apimachinery/pkg/api/validate/content"

// canBeName reports whether an object can have the name. Names in fields of other people's objects, such as the
// claim of a pod's volume, are checked by nobody, and ".." in a path would read something else.
func canBeName(name string) bool {
	return name != "" && len(content.IsPathSegmentName(name)) == 0
}
