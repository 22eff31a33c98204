package expression_test

import (
	"math"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/kubelet/expression"
)

// large is m5.4xlarge, as EC2 describes it.
func large() expression.Variables {
	return expression.Variables{
		VCPUs: 16, MemoryMiB: 65536, DefaultENIs: 8, IPsPerENI: 30, MaxPods: 234, InstanceType: "m5.4xlarge",
	}
}

func compiler(t testing.TB) *expression.Compiler {
	t.Helper()
	made, err := expression.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestEvaluate(t *testing.T) {
	c := compiler(t)
	for _, test := range []struct {
		text string
		want int64
	}{
		{"110", 110},
		{"vcpus * 10", 160},
		{"memory_mib / 64", 1024},
		{"default_enis + ips_per_eni", 38},
		{"max_pods - 2", 232},
		{"((default_enis - 1) * (ips_per_eni - 1)) + 2", 205},
		{"min(250, ((default_enis - 1) * (ips_per_eni - 1)) * 16 + 2)", 250},
		{"max(60, vcpus * 30)", 480},
		{"min(2, 3)", 2},
		{"max(2.5, 3.5)", 3},
		{"min(2.5, 3.5)", 2},
		{"max(1, 2.9)", 2},
		{"min(1, 2.9)", 1},
		{"max(2.9, 3)", 3},
		{"min(2.9, 3)", 2},
		{"double(memory_mib) * 0.001", 65},
		{"-0.9", 0},
		{"-1.9", -1},
		{"vcpus - 20", -4},
		{"instance_type.startsWith('m5.') ? 1 : 2", 1},
		{"instance_type in ['c5.large', 'm5.4xlarge'] ? 29 : max_pods", 29},
		{"int(double(max_pods) * 1.1)", 257},
		{"max_pods % 100", 34},
		{"size(instance_type)", 10},
		{"9223372036854775807", math.MaxInt64},
		{"-9223372036854775808.0", math.MinInt64},
	} {
		program, err := c.Compile(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got, cost, err := program.Evaluate(large()); err != nil || got != test.want || cost > 100 {
			t.Errorf("%s is %d, want %d; cost %d; error %v", test.text, got, test.want, cost, err)
		}
	}
}

func TestAnExpressionWithoutAValueSaysWhy(t *testing.T) {
	c := compiler(t)
	for _, test := range []struct{ text, want string }{
		{"vcpus / (max_pods - 234)", "division by zero"},
		{"vcpus % (max_pods - 234)", "modulus by zero"},
		{"double(vcpus) / 0.0", "non-finite"},
		{"0.0 / 0.0", "non-finite"},
		{"9223372036854775807 + vcpus", "overflow"},
		{"double(vcpus) * 1e300", "no 64-bit integer"},
		{"9223372036854775807.0", "no 64-bit integer"},
		{"-1e300", "no 64-bit integer"},
		{"int(instance_type)", "type conversion error"},
		{"[1, 2][vcpus]", "index out of bounds: 16"},
		{many("[0,1,2,3,4,5,6,7,8,9]", 6), "cost limit exceeded"},
	} {
		program, err := c.Compile(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		got, _, err := program.Evaluate(large())
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s is %d with the error %v, want an error with %q", test.text, got, err, test.want)
		}
	}
}

// many nests loops over the list, and so makes a short text whose evaluation takes long.
func many(list string, depth int) string {
	text := "true"
	for i := range depth {
		text = list + ".all(x" + string(rune('a'+i)) + ", " + text + ")"
	}
	return text + " ? 1 : 2"
}

func TestATextThatIsNoExpressionIsRefused(t *testing.T) {
	c := compiler(t)
	for _, test := range []struct{ text, want string }{
		{"", "it is empty"},
		{"vcpus *", "line 1, column 8: Syntax error"},
		{"-", "Syntax error"},
		{"vcpu * 10", "line 1, column 1: undeclared reference to 'vcpu'"},
		{"12Gx", "Syntax error"},
		{"vcpus * 0.5", "no matching overload"},
		{"max(1, 2, 3)", "no matching overload"},
		{"max('a', 'b')", "no matching overload"},
		{"instance_type", "must return int or double: it returns string"},
		{"vcpus > 4", "must return int or double: it returns bool"},
		{"1u", "must return int or double: it returns uint"},
		{"dyn(1)", "must return int or double: it returns dyn"},
		{"vcpus" + strings.Repeat(" ", 10_000), "it has 10005 characters, 10000 are allowed"},
		{strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 4999), "recursion"},
	} {
		if _, err := c.Compile(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: error %v, want %q", test.text, err, test.want)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, text := range []string{
		"max(60, vcpus * 30)", "min(1.5, double(max_pods))", "instance_type.matches('^m5') ? 1 : 2", "[1].all(x, x > 0)",
		"1/0", "'", "a.b.c()", "{}[1]", "9223372036854775807+1", "int('x')", "\x00", "timestamp('x')", many("[1,2]", 3),
	} {
		f.Add(text, int64(4), int64(8192), int64(3), int64(10), int64(29))
	}
	c := compiler(f)
	f.Fuzz(func(t *testing.T, text string, vcpus, memory, enis, ips, pods int64) {
		program, err := c.Compile(text)
		if err != nil {
			return
		}
		v := expression.Variables{
			VCPUs: vcpus, MemoryMiB: memory, DefaultENIs: enis, IPsPerENI: ips, MaxPods: pods, InstanceType: "m5.large",
		}
		value, _, err := program.Evaluate(v)
		again, _, errAgain := program.Evaluate(v)
		if value != again || (err == nil) != (errAgain == nil) {
			t.Errorf("%q is %d (%v), then %d (%v)", text, value, err, again, errAgain)
		}
	})
}
