package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/whittle-dev/whittle/shared/api"
)

// Values are the values of a class's expressions for one instance type. Settings that are no
// expressions are not among them.
type Values struct {
	MaxPods        *int32            `json:"maxPods,omitempty"`
	KubeReserved   map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
}

// Evaluation is the result of evaluating a class's expressions for every instance type.
type Evaluation struct {
	// Reason and Message are those of the class's condition where an expression is invalid, or has no
	// value for a type. They are empty without a problem.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Types are the values by the instance type's name; none with a problem.
	Types map[string]Values `json:"types,omitempty"`
}

// Evaluations are the evaluations of all classes with expressions, by Inputs.
type Evaluations map[string]Evaluation

// Of returns the evaluation of the class's expressions, or false where they are not evaluated yet.
func (e Evaluations) Of(class *api.EC2NodeClass) (Evaluation, bool) {
	inputs, err := Inputs(class)
	if err != nil {
		return Evaluation{}, false
	}
	evaluation, found := e[inputs]
	return evaluation, found
}

// HasExpressions reports whether a kubelet setting of the class is an expression.
func HasExpressions(class *api.EC2NodeClass) bool {
	return len(class.Spec.Kubelet.Expressions()) > 0
}

// Inputs identifies what the values depend on in a class. Classes with equal inputs have equal
// values. The error is that of encoding the kubelet settings.
func Inputs(class *api.EC2NodeClass) (string, error) {
	kubelet, err := class.Spec.Kubelet.Text()
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: encoding spec.kubelet: %w", class.Name, err)
	}
	content, err := json.Marshal([]any{kubelet, class.AMIFamily(), class.Spec.NetworkInterfaces})
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: encoding spec.networkInterfaces: %w", class.Name, err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16]), nil
}

// Resolved returns the settings with the values in the place of the expressions. It changes neither
// argument. Expressions without a value are left out.
func Resolved(settings *api.KubeletConfiguration, values Values) *api.KubeletConfiguration {
	if settings == nil {
		return nil
	}
	resolved := *settings
	resolved.Raw = nil
	resolved.KubeReserved, resolved.SystemReserved = maps.Clone(settings.KubeReserved), maps.Clone(settings.SystemReserved)
	for _, expression := range settings.Expressions() {
		switch expression.Field {
		case api.KubeletMaxPods:
			resolved.Other = maps.Clone(settings.Other)
			delete(resolved.Other, api.KubeletMaxPods)
			resolved.MaxPods = values.MaxPods
		case api.KubeletKubeReserved:
			set(resolved.KubeReserved, expression.Resource, values.KubeReserved)
		case api.KubeletSystemReserved:
			set(resolved.SystemReserved, expression.Resource, values.SystemReserved)
		}
	}
	return &resolved
}

func set(amounts map[string]string, name string, values map[string]string) {
	value, found := values[name]
	if !found {
		delete(amounts, name)
		return
	}
	amounts[name] = value
}
