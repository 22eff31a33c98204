package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const manifests = "../../functions/install/manifests/crds"

func readCRD(t *testing.T, group, plural string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests, group+"_"+plural+".yaml"))
	if err != nil {
		t.Fatalf("%v (go generate writes it)", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestSchemasMatchTypes checks that every field of a type is in its schema, with the
// right JSON type and required where it is always written, and that a schema has no
// field that the type would drop.
func TestSchemasMatchTypes(t *testing.T) {
	for _, kind := range []struct {
		group, plural string
		object        any
	}{
		{Group, NodePoolResource, NodePool{}},
		{Group, NodeClaimResource, NodeClaim{}},
		{AWSGroup, EC2NodeClassResource, EC2NodeClass{}},
		{Group, NodeOverlayResource, NodeOverlay{}},
		{AutoscalingGroup, CapacityBufferResource, CapacityBuffer{}},
	} {
		t.Run(kind.plural, func(t *testing.T) {
			crd := readCRD(t, kind.group, kind.plural)
			if len(crd.Spec.Versions) != 1 {
				t.Fatalf("%d versions, want one", len(crd.Spec.Versions))
			}
			matchType(t, reflect.TypeOf(kind.object), *crd.Spec.Versions[0].Schema.OpenAPIV3Schema, "")
		})
	}
}

func matchType(t *testing.T, goType reflect.Type, schema apiextensionsv1.JSONSchemaProps, path string) {
	t.Helper()
	switch goType {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[NillableDuration]():
		wantType(t, path, schema, "string")
		return
	case reflect.TypeFor[resource.Quantity]():
		if schema.Type != "string" && !schema.XIntOrString {
			t.Errorf("%s: the schema takes no quantities", path)
		}
		return
	case reflect.TypeFor[metav1.ObjectMeta]():
		wantType(t, path, schema, "object")
		return
	case reflect.TypeFor[KubeletConfiguration]():
		wantType(t, path, schema, "object")
		if open := schema.XPreserveUnknownFields; open == nil || !*open || len(schema.Properties) > 0 {
			t.Errorf("%s: the schema is not open", path)
		}
		return
	}
	switch goType.Kind() {
	case reflect.Pointer:
		matchType(t, goType.Elem(), schema, path)
	case reflect.String:
		wantType(t, path, schema, "string")
	case reflect.Bool:
		wantType(t, path, schema, "boolean")
	case reflect.Int, reflect.Int32, reflect.Int64:
		wantType(t, path, schema, "integer")
	case reflect.Slice:
		wantType(t, path, schema, "array")
		if schema.Items == nil || schema.Items.Schema == nil {
			t.Errorf("%s: the schema does not say what the list holds", path)
			return
		}
		matchType(t, goType.Elem(), *schema.Items.Schema, path+"[]")
	case reflect.Map:
		wantType(t, path, schema, "object")
		if schema.AdditionalProperties == nil || schema.AdditionalProperties.Schema == nil {
			t.Errorf("%s: the schema does not say what the map holds", path)
			return
		}
		matchType(t, goType.Elem(), *schema.AdditionalProperties.Schema, path+"{}")
	case reflect.Struct:
		wantType(t, path, schema, "object")
		matchFields(t, goType, schema, path)
	default:
		t.Errorf("%s: no schema is known for the Go type %s", path, goType)
	}
}

func matchFields(t *testing.T, goType reflect.Type, schema apiextensionsv1.JSONSchemaProps, path string) {
	t.Helper()
	fields := map[string]bool{}
	for field, required := range jsonFields(goType) {
		fields[field.name] = true
		at := path + "." + field.name
		property, ok := schema.Properties[field.name]
		if !ok {
			t.Errorf("%s: the schema has no such field", at)
			continue
		}
		// Types of Kubernetes' own have rules of their own for what is required.
		if goType.PkgPath() == reflect.TypeFor[NodePool]().PkgPath() {
			if listed := slices.Contains(schema.Required, field.name); listed != required {
				t.Errorf("%s: required by the schema: %v, always written by the type: %v", at, listed, required)
			}
		}
		matchType(t, field.goType, property, at)
	}
	for name := range schema.Properties {
		if !fields[name] {
			t.Errorf("%s.%s: the type has no such field", path, name)
		}
	}
}

type jsonField struct {
	name   string
	goType reflect.Type
}

// jsonFields are the fields that a struct has in JSON, and whether each is always
// written.
func jsonFields(goType reflect.Type) map[jsonField]bool {
	fields := map[jsonField]bool{}
	for i := range goType.NumField() {
		field := goType.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			for inner, required := range jsonFields(field.Type) {
				fields[inner] = required
			}
		default:
			fields[jsonField{name, field.Type}] = !strings.Contains(options, "omit")
		}
	}
	return fields
}

func wantType(t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps, want string) {
	t.Helper()
	if schema.Type != want {
		t.Errorf("%s: the schema has the type %q, want %q", path, schema.Type, want)
	}
}

func TestDefinitions(t *testing.T) {
	tests := []struct {
		name, group, plural, kind string
		version                   string
		shortNames                []string
		columns                   []string // with a * for those of kubectl get -o wide
	}{
		{
			NodePoolCRD, Group, NodePoolResource, NodePoolKind, Version, nil,
			[]string{"NodeClass", "Nodes", "Ready", "Age", "Weight*", "CPU*", "Memory*"},
		},
		{
			NodeClaimCRD, Group, NodeClaimResource, NodeClaimKind, Version, nil,
			[]string{
				"Type", "Capacity", "Zone", "Node", "Ready", "Age", "ImageID*", "ID*", "NodePool*", "NodeClass*",
				"Drifted*",
			},
		},
		{
			EC2NodeClassCRD, AWSGroup, EC2NodeClassResource, EC2NodeClassKind, Version, []string{"ec2nc", "ec2ncs"},
			[]string{"Ready", "Age", "Role*"},
		},
		{
			NodeOverlayCRD, Group, NodeOverlayResource, NodeOverlayKind, OverlayVersion, []string{"overlays"},
			[]string{"Ready", "Age", "Weight*"},
		},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			crd := readCRD(t, test.group, test.plural)
			names := crd.Spec.Names
			if crd.Name != test.name || crd.Spec.Group != test.group || names.Plural != test.plural ||
				names.Kind != test.kind || names.ListKind != test.kind+"List" {
				t.Errorf("it is %q of group %q with the names %+v", crd.Name, crd.Spec.Group, names)
			}
			if crd.Spec.Scope != apiextensionsv1.ClusterScoped || !slices.Equal(names.Categories, []string{"karpenter"}) ||
				!slices.Equal(names.ShortNames, test.shortNames) {
				t.Errorf("scope %q, categories %q, short names %q", crd.Spec.Scope, names.Categories, names.ShortNames)
			}
			version := crd.Spec.Versions[0]
			if version.Name != test.version || !version.Served || !version.Storage || version.Subresources == nil ||
				version.Subresources.Status == nil {
				t.Errorf(
					"the version is %q, served %v, stored %v, with the subresources %+v", version.Name, version.Served,
					version.Storage, version.Subresources,
				)
			}
			var columns []string
			for _, column := range version.AdditionalPrinterColumns {
				columns = append(columns, column.Name+strings.Repeat("*", int(column.Priority)))
			}
			if !slices.Equal(columns, test.columns) {
				t.Errorf("the columns are %q, want %q", columns, test.columns)
			}
		})
	}
	scale := readCRD(t, Group, NodePoolResource).Spec.Versions[0].Subresources.Scale
	if scale == nil || scale.SpecReplicasPath != ".spec.replicas" || scale.StatusReplicasPath != ".status.nodes" {
		t.Errorf("node pools scale by %+v", scale)
	}
}

// TestKnownKubeletFields checks the list by which the kubelet's own fields are told
// from others.
func TestKnownKubeletFields(t *testing.T) {
	want := []string{}
	for field := range jsonFields(reflect.TypeFor[KubeletConfiguration]()) {
		want = append(want, field.name)
	}
	got := knownKubeletFields()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestKubeletKeepsOtherSettings checks that what we have no field for is not lost.
func TestKubeletKeepsOtherSettings(t *testing.T) {
	const text = `{"cpuCFSQuota":false,"maxPods":20,"registryPullQPS":10,"shutdownGracePeriod":"30s"}`
	var kubelet KubeletConfiguration
	if err := json.Unmarshal([]byte(text), &kubelet); err != nil {
		t.Fatal(err)
	}
	if kubelet.MaxPods == nil || *kubelet.MaxPods != 20 || len(kubelet.Other) != 2 {
		t.Errorf("decoded as %+v", kubelet)
	}
	written, err := json.Marshal(kubelet)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != text {
		t.Errorf("%s came back as %s", text, written)
	}
	kubelet = KubeletConfiguration{}
	const expression = `{"maxPods":"max_pods - 2"}`
	if err := json.Unmarshal([]byte(expression), &kubelet); err != nil {
		t.Fatal(err)
	}
	if written, err = json.Marshal(kubelet); err != nil || string(written) != expression || kubelet.MaxPods != nil {
		t.Errorf("%s came back as %s, %v", expression, written, err)
	}
	for _, bad := range []string{`[]`, `"x"`} {
		if err := json.Unmarshal([]byte(bad), &kubelet); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	// A wrong value must not make a list of classes unreadable.
	for _, wrong := range []string{`{"maxPods":[]}`, `{"clusterDNS":"10.0.0.10"}`, `{"kubeReserved":{"cpu":"1","pid":2}}`} {
		kubelet = KubeletConfiguration{}
		err := json.Unmarshal([]byte(wrong), &kubelet)
		if err != nil || len(kubelet.Other) != 1 || kubelet.KubeReserved != nil {
			t.Errorf("%s was read as %+v, %v", wrong, kubelet, err)
		}
	}
}
