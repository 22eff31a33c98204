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

	"github.com/whittle-dev/whittle/shared/version"
)

// SystemNamespace holds the state that Whittle keeps between invocations.
const SystemNamespace = "whittle-system"

//go:embed crds/*.yaml namespace.yaml rbac/*.yaml people/*.yaml admission/*.yaml
var files embed.FS

// CRDs returns the CustomResourceDefinitions of NodePool, NodeClaim, NodeOverlay, EC2NodeClass and
// CapacityBuffer, and of the older kinds Provisioner and AWSNodeTemplate.
func CRDs() ([]unstructured.Unstructured, error) {
	return read("crds/*.yaml")
}

// Namespace returns the namespace SystemNamespace.
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
	labels := objects[0].GetLabels()
	labels[version.Label] = version.Version
	objects[0].SetLabels(labels)
	return objects[0], nil
}

// RBAC returns the roles and bindings of the functions' groups, whittle:provision and so on, and
// the rules that Kubernetes adds to its roles view and admin. SystemNamespace must exist before the
// namespaced ones.
func RBAC() ([]unstructured.Unstructured, error) {
	functions, err := FunctionRBAC()
	if err != nil {
		return nil, err
	}
	people, err := read("people/*.yaml")
	return append(functions, people...), err
}

// FunctionRBAC returns those of RBAC that the functions need. The others change what people may do.
func FunctionRBAC() ([]unstructured.Unstructured, error) {
	return read("rbac/*.yaml")
}

// Mode says what happens to a write that an admission policy refuses.
type Mode string

const (
	// ModeOff installs no policy.
	ModeOff Mode = "off"
	// ModeAudit lets the write through, and marks it in the API server's audit log.
	ModeAudit Mode = "audit"
	// ModeDeny refuses the write.
	ModeDeny Mode = "deny"
)

// Admission returns the admission policies with their bindings. The mode is that of the policies on what
// others write. The policy on Whittle's own functions refuses in both modes that install policies.
func Admission(mode Mode) ([]unstructured.Unstructured, error) {
	objects, err := read("admission/*.yaml")
	if err != nil || mode != ModeDeny {
		return objects, err
	}
	for i := range objects {
		if objects[i].GetKind() == "ValidatingAdmissionPolicyBinding" {
			err := unstructured.SetNestedStringSlice(objects[i].Object, []string{"Deny"}, "spec", "validationActions")
			if err != nil {
				return nil, fmt.Errorf("the binding %q: %w", objects[i].GetName(), err)
			}
		}
	}
	return objects, nil
}

// Hash changes with every change of a manifest. It is a property of the stack's custom resource, so
// that CloudFormation then installs again.
func Hash() string {
	sum := sha256.New()
	for _, pattern := range []string{"crds/*.yaml", "namespace.yaml", "rbac/*.yaml", "people/*.yaml", "admission/*.yaml"} {
		for _, name := range names(pattern) {
			content := content(name)
			// The length separates one file's end from the next one's start.
			fmt.Fprintf(sum, "%s %d\n", name, len(content))
			sum.Write(content)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// read decodes the objects of all files that match a pattern, in the order of the file names.
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

// names returns the embedded files that match a pattern. Patterns are constants and the files are
// in the binary, so neither this nor content can fail.
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
