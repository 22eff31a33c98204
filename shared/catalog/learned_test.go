package catalog_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

func TestObserve(t *testing.T) {
	now := catalogtest.Now
	var learned catalog.Learned
	for _, step := range []struct {
		instanceType, image string
		memory              int64
		after               time.Duration
		news                bool
		want                int64 // of m5.large and ami-1 then
	}{
		{"m5.large", "ami-1", 8000, 0, true, 8000},
		{"m5.large", "ami-1", 8000, time.Hour, false, 8000},
		{"m5.large", "ami-1", 8100, time.Hour, false, 8000},
		{"m5.large", "ami-1", 7900, time.Hour, true, 7900},
		{"m5.large", "ami-1", 8000, 26 * time.Hour, true, 7900}, // seen again after a day: the time is worth a write
		{"m5.large", "ami-2", 9000, 0, true, 7900},
		{"", "ami-1", 1, 0, false, 7900}, {"m5.large", "", 1, 0, false, 7900},
		{"m5.large", "ami-1", 0, 0, false, 7900}, {"m5.large", "ami-1", -1, 0, false, 7900},
	} {
		if news := learned.Observe(step.instanceType, step.image, step.memory, now.Add(step.after)); news != step.news {
			t.Errorf("%+v: news: %v", step, news)
		}
		if memory, ok := learned.Memory("m5.large", "ami-1", now.Add(step.after)); !ok || memory != step.want {
			t.Errorf("%+v: memory is %d", step, memory)
		}
	}
	if _, ok := learned.Memory("m5.large", "ami-1", now.Add(26*time.Hour+catalog.LearnedFor)); ok {
		t.Error("it is remembered for ever")
	}
	if _, ok := (*catalog.Learned)(nil).Memory("m5.large", "ami-1", now); ok {
		t.Error("nothing knows something")
	}
	if learned.Merge(nil) || learned.Merge(&learned) {
		t.Error("there is news in nothing, or in itself")
	}
}

func TestLearnedIsBounded(t *testing.T) {
	now := catalogtest.Now
	var learned catalog.Learned
	for i := range 6000 {
		learned.Observe(
			fmt.Sprintf("m%d.metal-48xl", i), "ami-0123456789abcdef0", 1<<40, now.Add(time.Duration(i)*time.Minute),
		)
	}
	learned.Prune(now.Add(100 * time.Hour))
	if len(learned.Capacities) != 5000 {
		t.Fatalf("%d are kept", len(learned.Capacities))
	}
	if _, oldest := learned.Capacities[catalog.LearnedKey("m0.metal-48xl", "ami-0123456789abcdef0")]; oldest {
		t.Error("the oldest is kept, and a newer one is not")
	}
	text, err := json.Marshal(learned)
	if err != nil || len(text) > 900_000 {
		t.Errorf("%d bytes of JSON, which a ConfigMap must hold: %v", len(text), err)
	}
	learned.Prune(now.Add(catalog.LearnedFor + 10000*time.Minute))
	if len(learned.Capacities) != 0 {
		t.Errorf("%d are kept for ever", len(learned.Capacities))
	}
}

// TestResolveUsesLearnedCapacity: what a node of the type and its image was seen to have takes the
// place of the estimate, and percentages follow.
func TestResolveUsesLearnedCapacity(t *testing.T) {
	const mebibyte = 1 << 20
	for _, test := range []struct {
		name, image      string
		memory           int64
		change           func(*api.EC2NodeClass)
		capacity, usable string
	}{
		{"nothing seen", "", 0, nil, "7577Mi", "6903Mi"},
		{"seen", "ami-1", 7800 * mebibyte, nil, "7800Mi", "7126Mi"},
		{"seen with less than is estimated", "ami-1", 7400 * mebibyte, nil, "7400Mi", "6726Mi"},
		{"seen with another image", "ami-2", 7800 * mebibyte, nil, "7577Mi", "6903Mi"},
		{"more than is sold", "ami-1", 8193 * mebibyte, nil, "7577Mi", "6903Mi"},
		{"hardly any", "ami-1", 4095 * mebibyte, nil, "7577Mi", "6903Mi"},
		// 10 % of 7800 MiB.
		{"eviction by percentage", "ami-1", 7800 * mebibyte, func(c *api.EC2NodeClass) {
			c.Spec.Kubelet = &api.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "10%"}}
		}, "7800Mi", "6446Mi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := catalogtest.NodeClass("default")
			if test.change != nil {
				test.change(class)
			}
			learned := &catalog.Learned{}
			learned.Observe("m5.large", test.image, test.memory, catalogtest.Now)
			for _, typ := range catalog.Resolve(
				catalogtest.Catalog(t), class, catalog.Observed{Learned: learned}, catalogtest.Now,
			) {
				if typ.Name != "m5.large" {
					continue
				}
				if capacity, usable := typ.Capacity[corev1.ResourceMemory], typ.Allocatable[corev1.ResourceMemory]; capacity.Cmp(
					resource.MustParse(test.capacity),
				) != 0 ||
					usable.Cmp(resource.MustParse(test.usable)) != 0 {
					t.Errorf(
						"capacity %s, allocatable %s, want %s and %s", capacity.String(), usable.String(), test.capacity,
						test.usable,
					)
				}
				return
			}
			t.Error("no m5.large")
		})
	}
}
