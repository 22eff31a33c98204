// Package manifests holds what Whittle installs in a cluster: the definitions of its
// kinds, its namespace, and the rights of its functions and of people.
//
// They are applied in that order; nothing else of Whittle is in the cluster.
package manifests

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// SystemNamespace is the namespace of what Whittle remembers between invocations.
const SystemNamespace = "whittle-system"

//go:embed crds/*.yaml namespace.yaml rbac/*.yaml
var files embed.FS

// CRDs are the CustomResourceDefinitions of NodePool, NodeClaim, NodeOverlay and EC2NodeClass.
func CRDs() ([]unstructured.Unstructured, error) {
	return read("crds/*.yaml")
}

// Namespace is the namespace SystemNamespace.
func Namespace() (unstructured.Unstructured, error) {
	objects, err := read("namespace.yaml")
	if err != nil {
		return unstructured.Unstructured{}, err
	}
	if len(objects) != 1 {
		return unstructured.Unstructured{}, fmt.Errorf(
			"reading manifest %q: has %d objects, want the namespace alone", "namespace.yaml", len(objects),
		)
	}
	return objects[0], nil
}

// RBAC are the roles and bindings of the functions' groups, whittle:provision and so
// on, and what is added to Kubernetes' roles view and admin. Those of a namespace name
// it; SystemNamespace must be there first.
func RBAC() ([]unstructured.Unstructured, error) {
	return read("rbac/*.yaml")
}

// Hash changes whenever a manifest does. It is a property of the stack's custom
// resource, so that a change makes CloudFormation install again.
func Hash() string {
	sum := sha256.New()
	for _, pattern := range []string{"crds/*.yaml", "namespace.yaml", "rbac/*.yaml"} {
		for _, name := range names(pattern) {
			content := content(name)
			// The length keeps one file's end from passing for the next one's start.
			fmt.Fprintf(sum, "%s %d\n", name, len(content))
			sum.Write(content)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// read decodes every object in the files that match a pattern, in the order of the
// files' names.
func read(pattern string) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	for _, name := range names(pattern) {
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content(name)), 4096)
		for {
			var object unstructured.Unstructured
			err := decoder.Decode(&object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading manifest %q: %w", name, err)
			}
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// names are the embedded files that match a pattern. Patterns are constants of this
// package and the files are in the binary, so neither this nor content can fail.
func names(pattern string) []string {
	matches, err := fs.Glob(files, pattern)
	if err != nil {
		panic(fmt.Sprintf("manifests: pattern %q: %v", pattern, err))
	}
	return matches
}

func content(name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("manifests: embedded file %q: %v", name, err))
	}
	return content
}
