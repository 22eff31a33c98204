package scheduling

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAmount(t *testing.T) {
	for _, test := range []struct {
		name corev1.ResourceName
		text string
		want int64
	}{
		{corev1.ResourceCPU, "100m", 100}, {corev1.ResourceCPU, "2", 2000}, {corev1.ResourceCPU, "0.1005", 101},
		{corev1.ResourceCPU, "1n", 1}, {corev1.ResourceCPU, "0", 0},
		{corev1.ResourceCPU, "-1500m", -1500}, {corev1.ResourceCPU, "-1n", -1},
		{corev1.ResourceCPU, "9223372036854775807", math.MaxInt64},
		{corev1.ResourceCPU, "9223372036854775.807", math.MaxInt64}, {corev1.ResourceCPU, "8Ei", math.MaxInt64},
		{corev1.ResourceCPU, "-1e30", math.MinInt64},
		{corev1.ResourceCPU, "-9223372036854775.8061", -math.MaxInt64},
		{corev1.ResourceCPU, "-9223372036854775.8071", math.MinInt64},
		{corev1.ResourceMemory, "1Gi", 1 << 30}, {corev1.ResourceMemory, "1500m", 2},
		{corev1.ResourceMemory, "-1500m", -2}, {corev1.ResourceMemory, "9223372036854775808", math.MaxInt64},
		{corev1.ResourceMemory, "1e30", math.MaxInt64},
		{corev1.ResourceMemory, "-9223372036854775808", math.MinInt64},
		{corev1.ResourceMemory, "9223372036854775806.5", math.MaxInt64},
	} {
		quantity := resource.MustParse(test.text)
		if got := Amount(test.name, &quantity); got != test.want {
			t.Errorf("%s of %s: got %d, want %d", test.text, test.name, got, test.want)
		}
	}
	for _, test := range []struct{ a, b, want int64 }{
		{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MaxInt64, -1}, {-5, 5, 0},
	} {
		if got := AddAmounts(test.a, test.b); got != test.want {
			t.Errorf("%d and %d: got %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// rational is a quantity without any rounding.
func rational(quantity resource.Quantity) *big.Rat {
	copied := quantity.DeepCopy()
	r, ok := new(big.Rat).SetString(copied.AsDec().String())
	if !ok {
		panic("a decimal that is no number")
	}
	return r
}

// amountOfRational is Amount with numbers of any size.
func amountOfRational(name corev1.ResourceName, r *big.Rat) int64 {
	if name == corev1.ResourceCPU {
		r = new(big.Rat).Mul(r, big.NewRat(1000, 1))
	}
	quotient, remainder := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if remainder.Sign() != 0 {
		quotient.Add(quotient, big.NewInt(int64(remainder.Sign())))
	}
	switch {
	case quotient.IsInt64():
		return quotient.Int64()
	case quotient.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

// hugeExponent is of quantities that resource.ParseQuantity itself does not come to an end with.
var hugeExponent = regexp.MustCompile("[eE][+-]?[0-9]{3}")

// parsed is a quantity of a size that resource.Quantity can work with.
func parsed(text string) (resource.Quantity, bool) {
	if len(text) > 40 || hugeExponent.MatchString(text) {
		return resource.Quantity{}, false
	}
	quantity, err := resource.ParseQuantity(text)
	return quantity, err == nil
}

func FuzzAmount(f *testing.F) {
	for _, text := range []string{
		"0", "1", "100m", "1.5", "-3", "1Ki", "8Ei", "1e18", "1e19", "9223372036854775807", "9223372036854775.807",
		"9223372036854775.8071", "-9223372036854775.8061", "-9223372036854775.808", "1n", "-1n", "0.0005", "1e-9",
		"999999999999999999999", "12E", "12e3",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, cpu bool) {
		quantity, ok := parsed(text)
		if !ok {
			return
		}
		name := corev1.ResourceMemory
		if cpu {
			name = corev1.ResourceCPU
		}
		if got, want := Amount(name, &quantity), amountOfRational(name, rational(quantity)); got != want {
			t.Errorf("%s of %s: got %d, want %d", text, name, got, want)
		}
	})
}

var (
	podResourceNames = []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, "nvidia.com/gpu",
		"hugepages-2Mi", corev1.ResourcePods,
	}
	podQuantities = []string{
		"0", "1", "2", "100m", "250m", "1500m", "33m", "1n", "700u", "0.0005", "1Gi", "100Mi", "3", "1e18",
		"9223372036854775807", "9223372036854775808", "8Ei", "1e30", "999999999999999999999999", "-1", "-250m",
		"-1e30",
	}
)

func randomList(random *rand.Rand, most int) corev1.ResourceList {
	if random.IntN(8) == 0 {
		return nil
	}
	list := corev1.ResourceList{}
	for range random.IntN(most + 1) {
		list[podResourceNames[random.IntN(
			len(podResourceNames),
		)]] = resource.MustParse(podQuantities[random.IntN(len(podQuantities))])
	}
	return list
}

// randomPod has anything that counts for what a pod takes.
func randomPod(random *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{}
	rarely := func() bool { return random.IntN(4) == 0 }
	container := func(name string) corev1.Container {
		c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: randomList(random, 3)}}
		return c
	}
	status := func(c *corev1.Container) corev1.ContainerStatus {
		s := corev1.ContainerStatus{Name: c.Name}
		switch random.IntN(4) {
		case 0:
		case 1:
			s.Resources = &corev1.ResourceRequirements{Requests: randomList(random, 3)}
			s.AllocatedResources = randomList(random, 3)
		default:
			s.Resources = &corev1.ResourceRequirements{Requests: c.Resources.Requests.DeepCopy()}
			s.AllocatedResources = c.Resources.Requests.DeepCopy()
		}
		return s
	}
	for i := range random.IntN(4) {
		c := container(fmt.Sprint("c", i))
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		if !rarely() {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status(&c))
		}
	}
	if rarely() {
		always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
		for i := range random.IntN(4) {
			c := container(fmt.Sprint("i", i))
			c.RestartPolicy = []*corev1.ContainerRestartPolicy{nil, &always, &always, &never}[random.IntN(4)]
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
			if rarely() {
				pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status(&c))
			}
		}
	}
	if rarely() {
		pod.Spec.Overhead = randomList(random, 2)
	}
	if rarely() {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: randomList(random, 3)}
		if rarely() {
			pod.Status.Resources = &corev1.ResourceRequirements{Requests: randomList(random, 3)}
			pod.Status.AllocatedResources = randomList(random, 3)
		}
	}
	if rarely() {
		reason := []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred}[random.IntN(2)]
		pod.Status.Conditions = append(
			pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason},
		)
	}
	return pod
}

// modelRequests is what
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
// and the pages on pod overhead, pod-level resources and resizes say that a pod takes, in numbers
// of any size.
func modelRequests(pod *corev1.Pod) map[corev1.ResourceName]*big.Rat {
	type amounts = map[corev1.ResourceName]*big.Rat
	infeasible := false
	for _, condition := range pod.Status.Conditions {
		infeasible = infeasible || condition.Type == corev1.PodResizePending && condition.Reason == corev1.PodReasonInfeasible
	}
	add := func(to, what amounts) {
		for name, amount := range what {
			if to[name] == nil {
				to[name] = new(big.Rat)
			}
			to[name].Add(to[name], amount)
		}
	}
	most := func(lists ...amounts) amounts {
		result := amounts{}
		for _, list := range lists {
			for name, amount := range list {
				if result[name] == nil || amount.Cmp(result[name]) > 0 {
					result[name] = new(big.Rat).Set(amount)
				}
			}
		}
		return result
	}
	read := func(list corev1.ResourceList) amounts {
		result := amounts{}
		for name, quantity := range list {
			result[name] = rational(quantity)
		}
		return result
	}
	effective := func(asked, has, allocated corev1.ResourceList) amounts {
		if infeasible {
			return most(read(has), read(allocated))
		}
		return most(read(asked), read(has), read(allocated))
	}
	ofContainer := func(c *corev1.Container, statuses []corev1.ContainerStatus) amounts {
		for _, status := range statuses {
			if status.Name == c.Name && status.Resources != nil {
				return effective(c.Resources.Requests, status.Resources.Requests, status.AllocatedResources)
			}
		}
		return read(c.Resources.Requests)
	}
	total, sidecars, starting := amounts{}, amounts{}, amounts{}
	for i := range pod.Spec.Containers {
		add(total, ofContainer(&pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			own := ofContainer(c, pod.Status.InitContainerStatuses)
			add(total, own)
			add(sidecars, own)
			starting = most(starting, sidecars)
			continue
		}
		now := read(c.Resources.Requests)
		add(now, sidecars)
		starting = most(starting, now)
	}
	total = most(total, starting)
	if pod.Spec.Resources != nil {
		for name, quantity := range pod.Spec.Resources.Requests {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != "hugepages-2Mi" {
				continue
			}
			total[name] = rational(quantity)
			if pod.Status.Resources != nil {
				own := effective(pod.Spec.Resources.Requests, pod.Status.Resources.Requests, pod.Status.AllocatedResources)[name]
				if own == nil {
					own = new(big.Rat)
				}
				total[name] = own
			}
		}
	}
	add(total, read(pod.Spec.Overhead))
	total[corev1.ResourcePods] = big.NewRat(1, 1)
	return total
}

func checkRequests(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := pod.DeepCopy()
	want := modelRequests(pod)
	got := PodRequests(pod)
	for name, quantity := range got {
		amount := want[name]
		if amount == nil {
			amount = new(big.Rat)
		}
		if rational(quantity).Cmp(amount) != 0 {
			t.Fatalf("%s: got %s, want %s", name, quantity.String(), amount.RatString())
		}
	}
	sums := corev1.ResourceList{}
	EachRequest(pod, func(name corev1.ResourceName, quantity *resource.Quantity) {
		sum := sums[name]
		sum.Add(*quantity)
		sums[name] = sum
	})
	amounts := map[corev1.ResourceName]int64{}
	EachRequestedAmount(
		pod, func(name corev1.ResourceName, amount int64) { amounts[name] = AddAmounts(amounts[name], amount) },
	)
	for name, amount := range want {
		if quantity, ok := got[name]; !ok && amount.Sign() != 0 {
			t.Fatalf("%s: got none, want %s", name, amount.RatString())
		} else if sum := sums[name]; ok && sum.Cmp(quantity) != 0 {
			t.Fatalf("%s: EachRequest adds up to %s, want %s", name, sum.String(), quantity.String())
		}
		if wanted := amountOfRational(name, amount); amounts[name] != wanted {
			t.Fatalf("%s: EachRequestedAmount adds up to %d, want %d", name, amounts[name], wanted)
		}
	}
	if len(sums) != len(got) || len(amounts) != len(got) {
		t.Fatalf("EachRequest names %d resources, EachRequestedAmount %d, want %d", len(sums), len(amounts), len(got))
	}
	if !reflect.DeepEqual(read(pod), read(before)) {
		t.Fatal("the pod was changed")
	}
}

// read is all quantities of a pod, as text, in a fixed order.
func read(pod *corev1.Pod) []string {
	var texts []string
	add := func(lists ...corev1.ResourceList) {
		for _, list := range lists {
			for _, name := range podResourceNames {
				if quantity, ok := list[name]; ok {
					texts = append(texts, string(name)+rational(quantity).RatString())
				}
			}
			texts = append(texts, "end")
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			add(containers[i].Resources.Requests)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].Resources != nil {
				add(statuses[i].Resources.Requests)
			}
			add(statuses[i].AllocatedResources)
		}
	}
	add(pod.Spec.Overhead, pod.Status.AllocatedResources)
	if pod.Spec.Resources != nil {
		add(pod.Spec.Resources.Requests)
	}
	if pod.Status.Resources != nil {
		add(pod.Status.Resources.Requests)
	}
	return texts
}

func TestRequestsOfRandomPods(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 10000 {
		checkRequests(t, randomPod(random))
	}
}

func FuzzRequests(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, "100m", "1Gi")
	}
	f.Add(uint64(1), "9223372036854775807", "-1e25")
	f.Fuzz(func(t *testing.T, seed uint64, cpu, memory string) {
		pod := randomPod(rand.New(rand.NewPCG(seed, 0)))
		for i := range pod.Spec.Containers {
			for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
				quantity, ok := parsed(text)
				if !ok {
					continue
				}
				if pod.Spec.Containers[i].Resources.Requests == nil {
					pod.Spec.Containers[i].Resources.Requests = corev1.ResourceList{}
				}
				pod.Spec.Containers[i].Resources.Requests[name] = quantity
			}
		}
		checkRequests(t, pod)
	})
}
