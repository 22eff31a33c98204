package resource

import (
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Vector is an amount of each resource that anything in the snapshot asks for, in the order of
// axes: thousandths of a core for cpu, billionths of a dollar for prices, else whole units.
type Vector []int64

// Axes are the resources that vectors count, by name and position. A resource that nothing asks for
// bounds nothing and is left out, apart from those that order pod groups and that explanations
// speak of.
type Axes struct {
	Names    []corev1.ResourceName
	Position map[corev1.ResourceName]int
}

// Positions of the resources that every axes has.
const (
	CPU = iota
	Memory
	Pods
	FixedAxes
)

func NewAxes(requested []corev1.ResourceName) *Axes {
	a := &Axes{Names: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}}
	var others []corev1.ResourceName
	for _, name := range requested {
		if !slices.Contains(a.Names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	a.Names = append(a.Names, slices.Compact(others)...)
	a.Position = make(map[corev1.ResourceName]int, len(a.Names))
	for i, name := range a.Names {
		a.Position[name] = i
	}
	return a
}

// Requests counts what is asked for; parts of a unit round up.
func (a *Axes) Requests(list corev1.ResourceList) Vector {
	v := make(Vector, len(a.Names))
	for name, quantity := range list {
		if i, ok := a.Position[name]; ok {
			v[i] = AmountUp(name, &quantity)
		}
	}
	return v
}

// Supply counts what there is; parts of a unit round down.
func (a *Axes) Supply(list corev1.ResourceList) Vector {
	v := make(Vector, len(a.Names))
	a.ReadSupply(v, list)
	return v
}

// ReadSupply counts what there is into v, which is zero.
func (a *Axes) ReadSupply(v Vector, list corev1.ResourceList) {
	for i, name := range a.Names {
		if quantity, ok := list[name]; ok {
			v[i] = AmountDown(name, &quantity)
		}
	}
}

// Take subtracts what a running pod takes.
func (a *Axes) Take(free Vector, pod *corev1.Pod) {
	scheduling.EachRequestedAmount(pod, func(name corev1.ResourceName, amount int64) {
		if i, ok := a.Position[name]; ok {
			free[i] -= max(0, min(amount, MaxAmount))
		}
	})
}

// MaxAmount is more than any machine has of anything, and little enough that a thousand of it can
// be added up. A pod may ask for any quantity; one that does not fit into 64 bits would come out as
// little or nothing, and a node would be launched for it in vain, again and again.
const MaxAmount = 1 << 53

// AmountUp is a quantity in a vector's unit, rounded up, and no more than beyond.
func AmountUp(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	if whole, ok := wholeAmount(name, quantity); ok {
		return whole
	}
	return max(-MaxAmount, min(scheduling.Amount(name, quantity), MaxAmount))
}

// wholeAmount is a quantity of whole units that is not beyond, which nearly all are, without any
// arithmetic on quantities.
func wholeAmount(name corev1.ResourceName, quantity *resource.Quantity) (int64, bool) {
	whole, ok := quantity.AsInt64()
	switch name {
	case corev1.ResourceCPU:
		return whole * 1000, ok && -MaxAmount/1000 <= whole && whole <= MaxAmount/1000
	case api.ResourceDollarsPerHour:
		return AmountOfDollars(quantity.AsApproximateFloat64()), true
	}
	return whole, ok && -MaxAmount <= whole && whole <= MaxAmount
}

// dollar is an amount of US dollars: billionths, so that the sum of many prices is exact enough.
const dollar = 1e9

// AmountOfDollars is a price in the unit of a vector.
func AmountOfDollars(price float64) int64 {
	return int64(math.Round(max(-MaxAmount, min(float64(price*dollar), MaxAmount))))
}

// AmountDown is a quantity in a vector's unit, rounded down.
func AmountDown(name corev1.ResourceName, quantity *resource.Quantity) int64 {
	if whole, ok := wholeAmount(name, quantity); ok {
		return whole
	}
	amount := AmountUp(name, quantity)
	if QuantityOf(name, amount).Cmp(*quantity) > 0 {
		amount--
	}
	return amount
}

// QuantityOf is an amount in a vector's unit as a quantity.
func QuantityOf(name corev1.ResourceName, amount int64) *resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return resource.NewQuantity(amount, resource.BinarySI)
	case api.ResourceDollarsPerHour:
		return resource.NewScaledQuantity(amount, resource.Nano)
	}
	return resource.NewQuantity(amount, resource.DecimalSI)
}

// Text is an amount in a vector's unit as people write it: cores with decimals, bytes in Mi or Gi,
// and prices in dollars.
func Text(name corev1.ResourceName, amount int64) string {
	decimal := func(n float64, digits int) string {
		text := strconv.FormatFloat(n, 'f', digits, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	bytes := name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	switch {
	case name == api.ResourceDollarsPerHour:
		return dollarsText(float64(amount) / dollar)
	case amount == 0:
		return "0"
	case name == corev1.ResourceCPU:
		return decimal(float64(amount)/1000, 3)
	case !bytes || amount < 1<<20:
		return QuantityOf(name, amount).String()
	case amount < 1<<30:
		return decimal(float64(amount)/(1<<20), 1) + "Mi"
	}
	return decimal(float64(amount)/(1<<30), 1) + "Gi"
}

// dollarsText has two decimals, or up to four where two would not tell the price.
func dollarsText(price float64) string {
	text := strconv.FormatFloat(price, 'f', 4, 64)
	return "$" + strings.TrimSuffix(strings.TrimSuffix(text, "0"), "0") + "/h"
}

func (v Vector) Add(other Vector, times int64) {
	for i := range v {
		v[i] += other[i] * times
	}
}

func (v Vector) Sub(other Vector) {
	for i := range v {
		v[i] -= other[i]
	}
}

// Fits reports whether need is there.
func (v Vector) Fits(need Vector) bool {
	for i, n := range need {
		if n > 0 && n > v[i] {
			return false
		}
	}
	return true
}

// Room is how many times need is there, at most limit.
func (v Vector) Room(need Vector, limit int64) int64 {
	for i, n := range need {
		if n <= 0 {
			continue
		}
		if v[i] < n {
			return 0
		}
		limit = min(limit, v[i]/n)
	}
	return limit
}

// AtLeast reports whether v has no less than other of anything.
func (v Vector) AtLeast(other Vector) bool {
	for i := range v {
		if v[i] < other[i] {
			return false
		}
	}
	return true
}

// AddLists adds a resource list to a sum.
func AddLists(sum, list corev1.ResourceList) {
	for name, quantity := range list {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
}
