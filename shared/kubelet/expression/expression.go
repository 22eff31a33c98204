package expression

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	// MaximumLength is the number of characters of the longest expression. Karpenter allows
	// 100,000, which take seconds to parse.
	MaximumLength = 10_000
	// maximumCost bounds one evaluation, in the cost units of CEL: about one for each operation.
	maximumCost = 100_000
)

// Variables are the facts of one instance type that expressions read.
type Variables struct {
	VCPUs        int64  // vcpus
	MemoryMiB    int64  // memory_mib
	DefaultENIs  int64  // default_enis: the network interfaces of the default network card
	IPsPerENI    int64  // ips_per_eni: the IPv4 addresses of each interface
	MaxPods      int64  // max_pods
	InstanceType string // instance_type
}

// values returns the variables by their names in expressions.
func (v Variables) values() map[string]any {
	return map[string]any{
		"vcpus": v.VCPUs, "memory_mib": v.MemoryMiB, "default_enis": v.DefaultENIs, "ips_per_eni": v.IPsPerENI,
		"max_pods": v.MaxPods, "instance_type": v.InstanceType,
	}
}

// Compiler compiles expressions.
type Compiler struct {
	environment *cel.Env
}

// NewCompiler returns a compiler. The error is a defect of this package.
func NewCompiler() (*Compiler, error) {
	var options []cel.EnvOption
	for name, value := range (Variables{}).values() {
		kind := cel.IntType
		if _, isText := value.(string); isText {
			kind = cel.StringType
		}
		options = append(options, cel.Variable(name, kind))
	}
	options = append(options,
		choice("max", func(a, b float64) bool { return a > b }, func(a, b int64) bool { return a > b }),
		choice("min", func(a, b float64) bool { return a < b }, func(a, b int64) bool { return a < b }),
	)
	environment, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("making the environment of kubelet expressions: %w", err)
	}
	return &Compiler{environment}, nil
}

// choice declares a function that returns the first of two numbers where it is better, else the
// second. A pair of an int and a double gives a double.
func choice(name string, betterDouble func(a, b float64) bool, betterInt func(a, b int64) bool) cel.EnvOption {
	double := func(a, b float64) ref.Val {
		if betterDouble(a, b) {
			return types.Double(a)
		}
		return types.Double(b)
	}
	overload := func(suffix string, a, b, result *cel.Type, binding func(a, b ref.Val) ref.Val) cel.FunctionOpt {
		return cel.Overload(name+suffix, []*cel.Type{a, b}, result, cel.BinaryBinding(binding))
	}
	return cel.Function(name,
		overload("_int_int", cel.IntType, cel.IntType, cel.IntType, func(a, b ref.Val) ref.Val {
			if betterInt(int64(a.(types.Int)), int64(b.(types.Int))) {
				return a
			}
			return b
		}),
		overload("_double_double", cel.DoubleType, cel.DoubleType, cel.DoubleType, func(a, b ref.Val) ref.Val {
			return double(float64(a.(types.Double)), float64(b.(types.Double)))
		}),
		overload("_int_double", cel.IntType, cel.DoubleType, cel.DoubleType, func(a, b ref.Val) ref.Val {
			return double(float64(a.(types.Int)), float64(b.(types.Double)))
		}),
		overload("_double_int", cel.DoubleType, cel.IntType, cel.DoubleType, func(a, b ref.Val) ref.Val {
			return double(float64(a.(types.Double)), float64(b.(types.Int)))
		}),
	)
}

// Program is a compiled expression.
type Program struct {
	program cel.Program
}

// Compile returns the program of an expression. The error describes the first problem of the text
// and where it is.
func (c *Compiler) Compile(text string) (*Program, error) {
	if length := utf8.RuneCountInString(text); length > MaximumLength {
		return nil, fmt.Errorf("it has %d characters, %d are allowed", length, MaximumLength)
	}
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	ast, issues := c.environment.Compile(text)
	if issues != nil && len(issues.Errors()) > 0 {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, first.Message)
	}
	if result := ast.OutputType(); !result.IsExactType(cel.IntType) && !result.IsExactType(cel.DoubleType) {
		return nil, fmt.Errorf("expression must return int or double: it returns %s", result)
	}
	program, err := c.environment.Program(ast, cel.CostLimit(maximumCost), cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		return nil, err
	}
	return &Program{program}, nil
}

// Evaluate returns the expression's value for the variables, and what the evaluation cost in CEL's
// units, also where it fails. A double loses its fraction. The error tells what has no value, such
// as a division by zero.
func (p *Program) Evaluate(v Variables) (value int64, cost uint64, err error) {
	out, details, err := p.program.Eval(v.values())
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		return 0, cost, err
	}
	switch result := out.Value().(type) {
	case int64:
		return result, cost, nil
	case float64:
		value, err := whole(result)
		return value, cost, err
	}
	return 0, cost, fmt.Errorf("expression returned an unexpected type: %T", out.Value())
}

// whole returns a double without its fraction.
func whole(value float64) (int64, error) {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return 0, errors.New("expression returned a non-finite value")
	// The greatest int64 is no double. The next one above is 2^63, which is too large.
	case value < math.MinInt64 || value >= math.MaxInt64:
		return 0, fmt.Errorf("expression returned %g, which is no 64-bit integer", value)
	}
	return int64(value), nil
}
