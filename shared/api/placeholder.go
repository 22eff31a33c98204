package api

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// placeholder matches what envsubst would replace.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// Placeholders returns the placeholders that nobody replaced in a manifest, each a *FieldError, joined. User
// data is a script with variables of its own, and kubelet settings may have expressions. A class with
// placeholders is valid apart from them: `whittle convert` prints such classes.
func (c *EC2NodeClass) Placeholders() error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c.Spec)
	if err != nil {
		return err
	}
	delete(fields, "userData")
	delete(fields, "kubelet")
	f := &findings{kind: EC2NodeClassKind, name: c.Name}
	f.find("spec", fields)
	return f.err()
}

func (f *findings) find(at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if placeholder.MatchString(key) {
				f.add(at, key, "has a placeholder in a key: %s", placeholderRemedy)
			}
			f.find(at+"."+key, value[key])
		}
	case []any:
		for i := range value {
			f.find(fmt.Sprintf("%s[%d]", at, i), value[i])
		}
	case string:
		if placeholder.MatchString(value) {
			f.add(at, value, "has a placeholder: %s", placeholderRemedy)
		}
	}
}

const placeholderRemedy = "pass the manifest through envsubst, or print the objects with `whittle init`"
