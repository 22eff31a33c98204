package cluster

import pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"

// canBeName reports whether an object can have the name. Names in fields of other people's objects, such as the
// claim of a pod's volume, are checked by nobody, and ".." in a path would read something else.
func canBeName(name string) bool {
	return name != "" && len(pathvalidation.IsValidPathSegmentName(name)) == 0
}
