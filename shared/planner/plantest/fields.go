package plantest

import (
	"reflect"
	"strings"
	"sync"

	"github.com/whittle-dev/whittle/shared/plan"
)

// fieldClusters is how many clusters of each kind UsedFields looks at.
const fieldClusters = 150

// module begins the paths of the project's packages.
const module = "github.com/whittle-dev/whittle/"

// Changes are random clusters with something more: each changes a snapshot, the same for the same seed,
// and returns it.
func Changes() map[string]func(*plan.Snapshot, uint64) *plan.Snapshot {
	return map[string]func(*plan.Snapshot, uint64) *plan.Snapshot{
		// Nodes cost more than their instances. Prices add up, and no plan is below its bound.
		"extras":        WithExtras,
		"interruptions": WithInterruptions,
		"daemon sets":   WithDaemonTerms,
		"daemon labels": WithDaemonLabels,
		"volume limits": WithVolumes,
		"edges":         WithEdges,
		"commitments":   WithCommitments,
		"limits":        WithLimits,
	}
}

// fieldSnapshots are the clusters that UsedFields looks at.
var fieldSnapshots = sync.OnceValue(func() []*plan.Snapshot {
	var all []*plan.Snapshot
	for seed := range uint64(fieldClusters) {
		all = append(all, Random(seed))
		for _, change := range Changes() {
			all = append(all, change(Random(seed), seed))
		}
	}
	return all
})

// UsedFields returns the fields of Kubernetes' API and of the project's types that have a value in some
// random cluster, as "PodSpec.Affinity". It looks at the part of each snapshot that of returns.
func UsedFields(of func(*plan.Snapshot) any) map[string]bool {
	used := map[string]bool{}
	for _, s := range fieldSnapshots() {
		CollectFields(of(s), used)
	}
	return used
}

// CollectFields adds to used the fields, as UsedFields, that have a value somewhere in v.
func CollectFields(v any, used map[string]bool) { collectFields(reflect.ValueOf(v), used) }

func collectFields(v reflect.Value, used map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collectFields(v.Elem(), used)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collectFields(v.Index(i), used)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			collectFields(v.MapIndex(key), used)
		}
	case reflect.Struct:
		typ := v.Type()
		for i := range v.NumField() {
			if typ.Field(i).IsExported() && !v.Field(i).IsZero() {
				if path := typ.PkgPath(); strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, module) {
					used[typ.Name()+"."+typ.Field(i).Name] = true
				}
				collectFields(v.Field(i), used)
			}
		}
	}
}

// GiveValue gives a field a value other than zero, with the fields below it to a depth.
func GiveValue(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		GiveValue(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		GiveValue(v.Index(0), depth)
	case reflect.Struct:
		for i := 0; depth > 0 && i < v.NumField(); i++ {
			if v.Field(i).CanSet() {
				GiveValue(v.Field(i), depth-1)
			}
		}
	}
}
