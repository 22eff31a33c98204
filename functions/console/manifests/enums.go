package manifests

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/nearest"
)

// enum lists the values of a string type.
type enum struct {
	values []string
	// required fields cannot be empty.
	required bool
}

// enums lists the types that a plan depends on.
var enums = map[reflect.Type]enum{
	reflect.TypeFor[corev1.NodeSelectorOperator](): {
		strings.Fields("In NotIn Exists DoesNotExist Gt Lt Gte Lte"), true,
	},
	reflect.TypeFor[metav1.LabelSelectorOperator]():         {strings.Fields("In NotIn Exists DoesNotExist"), true},
	reflect.TypeFor[corev1.UnsatisfiableConstraintAction](): {strings.Fields("DoNotSchedule ScheduleAnyway"), true},
	reflect.TypeFor[corev1.NodeInclusionPolicy]():           {strings.Fields("Honor Ignore"), false},
	reflect.TypeFor[corev1.TolerationOperator]():            {strings.Fields("Exists Equal Lt Gt"), false},
	reflect.TypeFor[corev1.TaintEffect](): {
		strings.Fields("NoSchedule PreferNoSchedule NoExecute"), false,
	},
	reflect.TypeFor[corev1.PreemptionPolicy](): {strings.Fields("Never PreemptLowerPriority"), false},
	reflect.TypeFor[corev1.Protocol]():         {strings.Fields("TCP UDP SCTP"), false},
	reflect.TypeFor[corev1.PodPhase](): {
		strings.Fields("Pending Running Succeeded Failed Unknown"), false,
	},
	reflect.TypeFor[corev1.RestartPolicy]():          {strings.Fields("Always OnFailure Never"), false},
	reflect.TypeFor[corev1.ContainerRestartPolicy](): {strings.Fields("Always OnFailure Never"), false},
	reflect.TypeFor[corev1.ConditionStatus]():        {strings.Fields("True False Unknown"), false},
	reflect.TypeFor[metav1.ConditionStatus]():        {strings.Fields("True False Unknown"), false},
	reflect.TypeFor[corev1.PersistentVolumeAccessMode](): {
		strings.Fields("ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod"), false,
	},
	reflect.TypeFor[corev1.PersistentVolumeClaimPhase](): {strings.Fields("Pending Bound Lost"), false},
	reflect.TypeFor[storagev1.VolumeBindingMode]():       {strings.Fields("Immediate WaitForFirstConsumer"), false},
	reflect.TypeFor[appsv1.PodManagementPolicyType]():    {strings.Fields("OrderedReady Parallel"), false},
	reflect.TypeFor[api.ConsolidationPolicy](): {[]string{
		string(api.ConsolidationPolicyWhenEmpty), string(api.ConsolidationPolicyWhenEmptyOrUnderutilized),
		string(api.ConsolidationPolicyBalanced),
	}, false},
	reflect.TypeFor[legacy.ConsolidationPolicy](): {strings.Fields("WhenEmpty WhenUnderutilized"), false},
}

// checkEnums finds the fields with a value that their type does not have.
func checkEnums(object any) []document.Problem {
	c := enumCheck{}
	c.value(reflect.ValueOf(object).Elem())
	return c.problems
}

type enumCheck struct {
	// path is the current path of the check.
	path     document.Path
	problems []document.Problem
}

func (c *enumCheck) problem(text string) {
	c.problems = append(c.problems, document.Problem{Path: slices.Clone(c.path), Text: text})
}

// step checks the value below a step.
func (c *enumCheck) step(step any, value reflect.Value) {
	c.path = append(c.path, step)
	c.value(value)
	c.path = c.path[:len(c.path)-1]
}

func (c *enumCheck) value(value reflect.Value) {
	if !enumTypes[value.Type()] {
		return
	}
	if known, ok := enums[value.Type()]; ok {
		c.text(value.String(), known)
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			c.value(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			c.step(i, value.Index(i))
		}
	case reflect.Struct:
		c.fields(value)
	}
}

func (c *enumCheck) fields(value reflect.Value) {
	for i := range value.NumField() {
		field := value.Field(i)
		if !enumTypes[field.Type()] || field.IsZero() && !mandatory(field) {
			continue
		}
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if name == "" {
			c.value(field)
			continue
		}
		c.step(name, field)
	}
}

func (c *enumCheck) text(text string, known enum) {
	switch {
	case text == "" && known.required:
		c.problem("is missing: want one of " + strings.Join(known.values, ", "))
	case text != "" && !slices.Contains(known.values, text):
		c.problem(fmt.Sprintf("%q: want one of %s%s", text, strings.Join(known.values, ", "),
			faults.Question(nearest.Fold(text, known.values))))
	}
}

// mandatory reports whether a field must have a value.
func mandatory(field reflect.Value) bool { return enums[field.Type()].required }

// enumTypes lists the types that may contain an enum. Most of a pod cannot, and is skipped.
var enumTypes = func() map[reflect.Type]bool {
	holds := map[reflect.Type]bool{}
	var visit func(reflect.Type) bool
	visit = func(typ reflect.Type) bool {
		if found, ok := holds[typ]; ok {
			return found
		}
		_, found := enums[typ]
		holds[typ] = found // for types that hold themselves
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			found = visit(typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				if visit(typ.Field(i).Type) {
					found = true
				}
			}
		}
		holds[typ] = found
		return found
	}
	visit(reflect.TypeFor[reader]())
	return holds
}()
