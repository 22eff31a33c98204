package catalog_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

// BenchmarkResolve resolves all types of a region for one class, which each pass does once for each
// class.
func BenchmarkResolve(b *testing.B) {
	s, class := catalogtest.Catalog(b), catalogtest.NodeClass("default")
	for b.Loop() {
		if types := catalog.Resolve(s, class, catalog.Observed{}, catalogtest.Now); len(types) < 1000 {
			b.Fatalf("%d types", len(types))
		}
	}
}
