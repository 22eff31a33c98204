//go:build conformance

package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/servicemodel"
)

// TestConformanceOfGeneratedTypes generates the types again and compares them with the committed
// ones.
func TestConformanceOfGeneratedTypes(t *testing.T) {
	environment, err := Prepare(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	models, err := environment.Models()
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"ec2"} {
		model, err := servicemodel.Load(models, service)
		if err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadFile(filepath.Join("..", service, "types.txt"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := servicemodel.Generate(model, service, string(list))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", service, "types_generated.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("the types of %s are not fresh: run go generate ./%s in testdata/lab", service, service)
		}
	}
}
