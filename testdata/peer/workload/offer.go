package workload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

// minimumTypes is how many instance types a comparison must at least be over to say something of a
// region's whole offer.
const minimumTypes = 700

// InstanceTypes are the real instance types of us-east-1's first three zones that have a price and
// are of the categories c, m and r (compute, general purpose, memory), by name: what Karpenter's
// guide tells node pools to choose from. None of them is exotic (bare metal, GPUs, accelerators).
func InstanceTypes() (types []catalog.InstanceType, err error) {
	defer func() {
		if failure, ok := recover().(tableError); ok {
			err = fmt.Errorf("reading the table of instance types: %s", string(failure))
		}
	}()
	types = catalog.Resolve(
		catalogtest.Catalog(raise{}),
		NodeClass(),
		catalog.Observed{},
		catalogtest.Now,
	)
	types = slices.DeleteFunc(types, func(t catalog.InstanceType) bool {
		category := t.Requirements[api.LabelInstanceCategory]
		usual := category.Has("c") || category.Has("m") || category.Has("r")
		return t.Exotic || !usual || !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Available })
	})
	if len(types) < minimumTypes {
		return nil, fmt.Errorf("only %d instance types are left, a comparison needs %d", len(types), minimumTypes)
	}
	return types, nil
}

// NodeClass is the class of all nodes: AL2023 with its volume of 20 GiB, and subnets that decide about
// public addresses.
func NodeClass() *api.EC2NodeClass { return catalogtest.NodeClass(nodeClassName) }

// raise is what the catalogue for tests wants of its caller; a program has no test to fail, and
// gets the failure as a panic.
type raise struct{ testing.TB }

func (raise) Helper() {}

func (raise) Fatal(arguments ...any) { panic(tableError(fmt.Sprint(arguments...))) }

type tableError string
