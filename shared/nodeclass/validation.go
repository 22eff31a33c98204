package nodeclass

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// Authorization is the result of the dry runs of a launch.
type Authorization struct {
	// Asked is true after a dry run. Without one, an earlier result stays.
	Asked bool
	// Problem is EC2's refusal.
	Problem Problem
}

// validation sets ValidationSucceeded from the class's own fields, then from its selection, then
// from the dry runs.
func (c conditions) validation(class *api.EC2NodeClass, facts Facts) {
	if problem := Check(class, facts); problem.Message != "" {
		c.set(api.ConditionTypeValidationSucceeded, metav1.ConditionFalse, problem.Reason, problem.Message)
		return
	}
	for _, dependency := range []string{
		api.ConditionTypeAMIsReady, api.ConditionTypeInstanceProfileReady, api.ConditionTypeSecurityGroupsReady,
		api.ConditionTypeSubnetsReady,
	} {
		if !api.ConditionTrue(c.status.Conditions, dependency) {
			c.set(
				api.ConditionTypeValidationSucceeded, metav1.ConditionFalse, api.ReasonDependenciesNotReady,
				"waiting for "+dependency,
			)
			return
		}
	}
	earlier := api.GetCondition(class.Status.Conditions, api.ConditionTypeValidationSucceeded)
	switch {
	case kubelet.HasExpressions(class) && facts.Expressions.Evaluation == nil:
		c.set(
			api.ConditionTypeValidationSucceeded, metav1.ConditionUnknown, api.ReasonDependenciesNotReady,
			"waiting for the values of the expressions in spec.kubelet: lifecycle evaluates them at its next tick, "+
				"once there is a catalogue of instance types",
		)
	case facts.Authorization.Problem.Message != "":
		c.set(
			api.ConditionTypeValidationSucceeded, metav1.ConditionFalse, facts.Authorization.Problem.Reason,
			facts.Authorization.Problem.Message,
		)
	case facts.Authorization.Asked:
		c.set(api.ConditionTypeValidationSucceeded, metav1.ConditionTrue, "", "")
	case earlier != nil && earlier.ObservedGeneration == class.Generation &&
		(isAuthorization(earlier.Reason) || earlier.Status == metav1.ConditionTrue):
		// The result of an earlier dry run stays until the next one.
		c.set(api.ConditionTypeValidationSucceeded, earlier.Status, earlier.Reason, earlier.Message)
	default:
		c.set(
			api.ConditionTypeValidationSucceeded, metav1.ConditionTrue, api.ReasonDryRunDisabled,
			"EC2 has not been asked whether the launch is authorized",
		)
	}
}

// NeedsAuthorization reports whether the class lacks only the result of a dry run, or has a refusal
// from one.
func NeedsAuthorization(status api.EC2NodeClassStatus) bool {
	// Without the group that it names there is no launch to ask about.
	if group := api.GetCondition(status.Conditions, api.ConditionTypePlacementGroupReady); group != nil &&
		group.Status == metav1.ConditionFalse {
		return false
	}
	condition := api.GetCondition(status.Conditions, api.ConditionTypeValidationSucceeded)
	return condition != nil && (condition.Reason == api.ReasonDryRunDisabled || isAuthorization(condition.Reason))
}

// isAuthorization reports whether a reason comes from a dry run.
func isAuthorization(reason string) bool {
	return slices.Contains([]string{
		api.ReasonCreateFleetAuthCheckFailed, api.ReasonCreateLaunchTemplateAuthCheckFailed,
		api.ReasonRunInstancesAuthCheckFailed, api.ReasonDryRunRefused,
	}, reason)
}

// Check returns the first problem of the class's own fields: the schema's rules, settings that the
// AMI family does not support, and user data that cannot be written.
func Check(class *api.EC2NodeClass, facts Facts) Problem {
	var reason string
	var messages []string
	add := func(because, message string) {
		if reason == "" {
			reason = because
		}
		messages = append(messages, message)
	}
	for _, err := range slices.Concat(joinedErrors(class.Validate()), joinedErrors(class.Placeholders())) {
		add(reasonOf(err), err.Error())
	}
	if problem := expressionProblem(class, facts.Expressions); problem.Message != "" {
		add(problem.Reason, problem.Message)
	}
	for _, field := range Unsupported(class) {
		add(api.ReasonValidationFailed, field)
	}
	if len(messages) == 0 && facts.Cluster.Name != "" {
		if problem := checkUserData(class, facts); problem.Message != "" {
			add(problem.Reason, problem.Message)
		}
	}
	return Problem{Reason: reason, Message: strings.Join(messages, "; ")}
}

// expressionProblem returns the problem of the class's kubelet expressions. It begins with Karpenter's
// words.
func expressionProblem(class *api.EC2NodeClass, known Expressions) Problem {
	expressions := class.Spec.Kubelet.Expressions()
	switch {
	case len(expressions) == 0:
		return Problem{}
	case !known.Enabled:
		return Problem{api.ReasonKubeletExpressionsDisabled, fmt.Sprintf(
			"spec.kubelet contains a CEL expression, but the NodeClassCEL feature gate is disabled: deploy with "+
				"nodeClassCEL, or write a number or an amount such as 100m or 200Mi in %s", expressions[0].Path(),
		)}
	case known.Evaluation == nil:
		return Problem{}
	}
	return Problem{known.Evaluation.Reason, known.Evaluation.Message}
}

// checkUserData builds the user data as a launch would, without the labels and taints of a pool.
func checkUserData(class *api.EC2NodeClass, facts Facts) Problem {
	if class.AMIFamily() == api.AMIFamilyAL2023 && facts.Cluster.ServiceCIDR == "" {
		return Problem{api.ReasonClusterCIDRResolutionFailed, fmt.Sprintf(
			"the service address range of cluster %q is not known, and nodes of AL2023 need it: "+
				"the cluster's kubernetesNetworkConfig must have serviceIpv4Cidr or serviceIpv6Cidr",
			facts.Cluster.Name,
		)}
	}
	data, err := UserData(class, Join{Cluster: facts.Cluster})
	if err != nil {
		return Problem{api.ReasonValidationFailed, err.Error()}
	}
	if err := checkSize(class, data); err != nil {
		return Problem{api.ReasonUserDataSizeLimitExceeded, err.Error()}
	}
	return Problem{}
}

// joinedErrors returns the errors that errors.Join joined.
func joinedErrors(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// reasonOf returns Karpenter's reason for a problem of a field.
func reasonOf(err error) string {
	var field *api.FieldError
	if !errors.As(err, &field) {
		return api.ReasonValidationFailed
	}
	switch {
	case field.Reason != "":
		return field.Reason
	case strings.HasPrefix(field.Path, "spec.tags"):
		return api.ReasonTagValidationFailed
	case strings.HasPrefix(field.Path, "spec.kubelet"):
		return api.ReasonInvalidKubeletConfiguration
	}
	return api.ReasonValidationFailed
}
