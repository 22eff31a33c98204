package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

var update = flag.Bool("update", false, "write the files that the tests compare with Karpenter")

// TestKubeletFieldsAreKubernetes holds the settings that a class may have to the type that Karpenter
// checks them with.
func TestKubeletFieldsAreKubernetes(t *testing.T) {
	shape := shapeOf(t, reflect.TypeFor[kubelet.KubeletConfiguration]())
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(shape); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "shared", "api", "kubeletfields.json")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not that of k8s.io/kubelet: run go test -C testdata/peer -run KubeletFields -update", path)
	}
}

// shapeOf is what JSON may hold for a Go type: the name of a scalar, a list with the shape of its
// items, or an object with the shapes of its fields, where * stands for any field.
func shapeOf(t *testing.T, of reflect.Type) any {
	t.Helper()
	switch of {
	case reflect.TypeFor[metav1.Duration]():
		return "duration"
	case reflect.TypeFor[resource.Quantity]():
		return "quantity"
	case reflect.TypeFor[metav1.Time]():
		return "time"
	}
	if reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return "any" // it reads texts and numbers
	}
	switch of.Kind() {
	case reflect.Pointer:
		return shapeOf(t, of.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int32:
		return "int32"
	case reflect.Int64:
		return "int64"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "count"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return []any{shapeOf(t, of.Elem())}
	case reflect.Map:
		return map[string]any{"*": shapeOf(t, of.Elem())}
	case reflect.Struct:
		fields := map[string]any{}
		for i := range of.NumField() {
			field := of.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" && field.Anonymous {
				for inner, shape := range shapeOf(t, field.Type).(map[string]any) {
					fields[inner] = shape
				}
				continue
			}
			fields[name] = shapeOf(t, field.Type)
		}
		return fields
	}
	t.Fatalf("no shape is known for the Go type %s", of)
	return nil
}
