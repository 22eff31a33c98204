package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/karpenter-provider-aws/pkg/cel"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/kubelet/evaluation"
	"github.com/whittle-dev/whittle/shared/kubelet/expression"
)

// TestExpressionsHaveKarpentersValues compares results, and what is refused.
func TestExpressionsHaveKarpentersValues(t *testing.T) {
	theirs, err := cel.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := expression.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"110", "0110", "1e3", "-5", "vcpus * 10", "memory_mib / 64", "memory_mib % 7", "max_pods - 2",
		"default_enis * ips_per_eni",
		"((default_enis - 1) * (ips_per_eni - 1)) + 2", "min(250, max_pods)", "max(60, vcpus * 30)",
		"min(1, 2.5)", "max(2.5, 1)",
		"min(2.5, 3.5)", "max(1, 2, 3)", "min(1u, 2u)", "max('a', 'b')", "double(vcpus) * 0.25", "vcpus * 0.25", "1.0 / 0.0",
		"0.0 / 0.0", "1 / (vcpus - 2)", "9223372036854775807 + vcpus", "instance_type == 'm5.large' ? 1 : 2", "instance_type",
		"instance_type.startsWith('m5') ? vcpus : 0", "size(instance_type)", "int(instance_type)",
		"true", "dyn(3)", "[1, 2][0]",
		"[1, 2].map(x, x * 2)[1]", "{'a': 1}['b']", "has(vcpus.a) ? 1 : 2", "cpus", "", " ", "vcpus +", "12Gx", "1 ? 2 : 3",
		"instance_type in ['m5.large'] ? 29 : max_pods", "int(double(max_pods) * 1.1)",
		"math.greatest(1, 2)", "vcpus > 4 ? 1.5 : 2.5",
		"vcpus > 4 ? 1.5 : 2", "timestamp('2026-01-01T00:00:00Z').getFullYear()",
		"max(1.5, double('NaN'))", "min(double('NaN'), 1)",
	} {
		program, refused := ours.Compile(text)
		if want := theirs.ValidateExpression(text); (want == nil) != (refused == nil) {
			t.Errorf("%q: refused with %v, Karpenter says %v", text, refused, want)
		}
		if refused != nil {
			continue
		}
		for _, v := range []expression.Variables{
			{VCPUs: 2, MemoryMiB: 8192, DefaultENIs: 3, IPsPerENI: 10, MaxPods: 29, InstanceType: "m5.large"},
			{VCPUs: 16, MemoryMiB: 65536, DefaultENIs: 8, IPsPerENI: 30, MaxPods: 234, InstanceType: "m5.4xlarge"},
			{},
		} {
			got, _, failed := program.Evaluate(v)
			want, theirsFailed := theirs.EvaluateExpression(text, cel.InstanceTypeVars{
				VCPUs: v.VCPUs, MemoryMiB: v.MemoryMiB, DefaultENIs: v.DefaultENIs, IPsPerENI: v.IPsPerENI, MaxPods: v.MaxPods,
				InstanceType: v.InstanceType,
			})
			if got != want || (failed == nil) != (theirsFailed == nil) {
				t.Errorf("%q for %q: %d (%v), Karpenter's is %d (%v)", text, v.InstanceType, got, failed, want, theirsFailed)
			}
		}
	}
}

// TestResultsBecomeKarpentersAmounts compares units and rounding.
func TestResultsBecomeKarpentersAmounts(t *testing.T) {
	theirs, err := cel.NewEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	known := &catalog.Catalog{InstanceTypes: []catalog.InstanceTypeInfo{{InstanceType: "m5.large"}}}
	for _, result := range []int64{
		0, 1, 9, 10, 11, 15, 16, 17, 4095, 4096, 1 << 40, 1<<63 - 17, 1<<63 - 16, 1<<63 - 2, 1<<63 - 1,
	} {
		for _, name := range []string{"cpu", "memory", "ephemeral-storage", "pid"} {
			// The sum is no amount, and so an expression.
			reserved := map[string]string{name: fmt.Sprintf("%d + 0", result)}
			want, err := theirs.ResolveResourceMap(context.Background(), reserved, func() (cel.InstanceTypeVars, error) {
				return cel.InstanceTypeVars{InstanceType: "m5.large"}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			class := &api.EC2NodeClass{}
			class.Spec.Kubelet = &api.KubeletConfiguration{KubeReserved: reserved}
			got, err := evaluation.Of(class, known)
			if err != nil || got.Types["m5.large"].KubeReserved[name] != want[name] {
				t.Errorf("%s of %d: %v (%v), Karpenter's is %v", name, result, got, err, want)
			}
		}
	}
}
