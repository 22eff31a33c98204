package evaluation

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/kubelet/expression"
)

const (
	// cpuStep and memoryStep are what reservations are rounded up to, in millicores and MiB. Fewer
	// different values need fewer launch templates.
	cpuStep    = 10
	memoryStep = 16
	// maximumCost bounds the evaluation of one class for all types, in the cost units of CEL. A
	// thousand types may cost five thousand units each.
	maximumCost = 5_000_000
	// maximumText is the number of characters of an expression that a message quotes.
	maximumText = 200
)

// Of evaluates the class's expressions for every type of the catalogue. The first expression with a
// problem ends it: Reason and Message then tell which, for which type, and why. The error is a defect
// of the interpreter.
func Of(class *api.EC2NodeClass, known *catalog.Catalog) (kubelet.Evaluation, error) {
	compiler, err := expression.NewCompiler()
	if err != nil {
		return kubelet.Evaluation{}, err
	}
	e := evaluator{class: class, settings: known.Settings}
	for _, setting := range class.Spec.Kubelet.Expressions() {
		program, err := compiler.Compile(setting.Text)
		if err != nil {
			return kubelet.Evaluation{Reason: api.ReasonKubeletExpressionInvalid, Message: fmt.Sprintf(
				"validating expression, %s %q: %v: correct the expression", setting.Path(), shortened(setting.Text), err,
			)}, nil
		}
		e.programs = append(e.programs, compiled{setting, program})
	}
	made := kubelet.Evaluation{Types: make(map[string]kubelet.Values, len(known.InstanceTypes))}
	for i := range known.InstanceTypes {
		info := &known.InstanceTypes[i]
		values, err := e.valuesOf(info)
		if err != nil {
			return kubelet.Evaluation{
				Reason: api.ReasonKubeletExpressionEvaluationFailed, Message: err.Error(),
			}, nil
		}
		made.Types[info.InstanceType] = values
	}
	return made, nil
}

// compiled is a setting with the program of its expression.
type compiled struct {
	setting api.KubeletExpression
	program *expression.Program
}

// evaluator evaluates the expressions of one class.
type evaluator struct {
	class    *api.EC2NodeClass
	settings catalog.Settings
	programs []compiled // maxPods first, because the others read its value
	cost     uint64
}

// valuesOf returns the values for an instance type. Inside maxPods, the variable max_pods is the
// default. In the others it is the value of maxPods.
func (e *evaluator) valuesOf(info *catalog.InstanceTypeInfo) (kubelet.Values, error) {
	values := kubelet.Values{}
	variables := expression.Variables{
		VCPUs: int64(info.DefaultVCpus), MemoryMiB: info.SizeInMiB,
		DefaultENIs: int64(info.Network.MaximumNetworkInterfaces), IPsPerENI: int64(info.Network.Ipv4AddressesPerInterface),
		MaxPods: int64(catalog.MaxPods(e.settings, e.class, info)), InstanceType: info.InstanceType,
	}
	for _, p := range e.programs {
		result, cost, err := p.program.Evaluate(variables)
		if e.cost += cost; err == nil && e.cost > maximumCost {
			err = errors.New("the evaluation for all instance types costs too much")
		}
		if err != nil {
			what := "kubelet resource expression"
			if p.setting.Field == api.KubeletMaxPods {
				what = "maxPods expression"
			}
			return values, problem(p.setting, info, fmt.Sprintf("evaluating %s, %v", what, err))
		}
		switch p.setting.Field {
		case api.KubeletMaxPods:
			if result < 0 || result > math.MaxInt32 {
				return values, problem(p.setting, info, fmt.Sprintf(
					"maxPods expression evaluated to a value outside the valid range [0, %d], to %d", math.MaxInt32, result,
				))
			}
			pods := int32(result)
			values.MaxPods = &pods
			resolved := *e.class
			resolved.Spec.Kubelet = kubelet.Resolved(e.class.Spec.Kubelet, values)
			variables.MaxPods = int64(catalog.MaxPods(e.settings, &resolved, info))
		default:
			if result < 0 {
				return values, problem(p.setting, info, fmt.Sprintf(
					"kubelet resource expression evaluated to a negative value, to %d", result,
				))
			}
			reserve(&values, p.setting, amount(p.setting.Resource, result))
		}
	}
	return values, nil
}

// problem describes an expression that has no usable value for an instance type. It begins with
// Karpenter's words.
func problem(setting api.KubeletExpression, info *catalog.InstanceTypeInfo, text string) error {
	return fmt.Errorf(
		"%s: %s %q for instance type %s: correct the expression", text, setting.Path(), shortened(setting.Text),
		info.InstanceType,
	)
}

// reserve adds the amount of a reservation to the values.
func reserve(values *kubelet.Values, setting api.KubeletExpression, amount string) {
	amounts := &values.KubeReserved
	if setting.Field == api.KubeletSystemReserved {
		amounts = &values.SystemReserved
	}
	if *amounts == nil {
		*amounts = map[string]string{}
	}
	(*amounts)[setting.Resource] = amount
}

// amount returns a result with the unit of the resource: millicores, MiB, GiB, or none for processes.
func amount(name string, result int64) string {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU:
		return strconv.FormatInt(roundedUp(result, cpuStep), 10) + "m"
	case corev1.ResourceMemory:
		return strconv.FormatInt(roundedUp(result, memoryStep), 10) + "Mi"
	case corev1.ResourceEphemeralStorage:
		return strconv.FormatInt(result, 10) + "Gi"
	}
	return strconv.FormatInt(result, 10)
}

// roundedUp returns the next multiple of the step, or the result where that is no int64.
func roundedUp(result, step int64) int64 {
	if rest := result % step; rest > 0 && result <= math.MaxInt64-step {
		return result - rest + step
	}
	return result
}

// shortened returns the beginning of a long text.
func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maximumText {
		return text
	}
	return string([]rune(text)[:maximumText]) + "..."
}
