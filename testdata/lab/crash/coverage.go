package crash

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/functions/install/manifests"
)

// verbs maps each RBAC verb to the request that it allows.
func verbs() map[string]string {
	return map[string]string{
		"list": "LIST", "get": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE",
	}
}

// otherNames maps IAM actions to call names where the two differ.
func otherNames() map[string]string {
	return map[string]string{
		"eks:DescribeCluster": "eks:GET clusters", "lambda:InvokeFunction": "lambda:POST 2015-03-31",
		"sqs:SendMessage": "sqs:SendMessageBatch", "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
	}
}

// noCalls lists rights without a call of the function's program. Lambda itself uses some; EC2 and
// IAM check others as part of another call.
func noCalls() []string {
	return []string{
		"logs:CreateLogStream", "logs:PutLogEvents", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes",
		"iam:PassRole",
	}
}

// Unreached lists the calls that the rows' functions may make and make in none of their scenarios.
// It reads the rights from the stack's template and the cluster roles below root.
func Unreached(root string, rows []*Row) ([]string, error) {
	called := map[string]bool{}
	for _, row := range rows {
		for name := range row.Names {
			called[row.Scenario.Function+" "+callable(name)] = true
		}
	}
	var missed []string
	for _, row := range rows {
		allowed, err := permitted(root, row.Scenario.Function)
		if err != nil {
			return nil, err
		}
		for _, name := range allowed {
			if one := row.Scenario.Function + " " + name; !called[one] {
				missed = append(missed, one)
			}
		}
	}
	slices.Sort(missed)
	return slices.Compact(missed), nil
}

// callable returns the part of a call's name that rights can distinguish.
func callable(name string) string {
	words := strings.Split(strings.TrimSuffix(name, " (dry run)"), " ")
	return strings.Join(words[:min(2, len(words))], " ")
}

// permitted returns the calls that a function may make.
func permitted(root, function string) ([]string, error) {
	inAWS, err := permittedInAWS(root, function)
	if err != nil {
		return nil, fmt.Errorf("reading what function %s may do in AWS: %w", function, err)
	}
	objects, err := manifests.RBAC()
	if err != nil {
		return nil, err
	}
	calls := map[string]bool{}
	for i := range objects {
		if !slices.Contains([]string{"Role", "ClusterRole"}, objects[i].GetKind()) ||
			objects[i].GetName() != "whittle:"+function {
			continue
		}
		var role rbacv1.ClusterRole // a Role's rules are the same
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &role); err != nil {
			return nil, fmt.Errorf("reading the role %s: %w", objects[i].GetName(), err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					calls[verbs()[verb]+" "+resource] = true
				}
			}
		}
	}
	return append(inAWS, slices.Sorted(maps.Keys(calls))...), nil
}

// permittedInAWS reads the function's role from the template snapshot of the stack's tests.
func permittedInAWS(root, function string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(root, "infra", "testdata", "snapshot.json"))
	if err != nil {
		return nil, err
	}
	var template struct {
		Resources map[string]struct {
			Properties struct {
				Policies []struct {
					PolicyDocument struct {
						Statement []struct{ Action any }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(content, &template); err != nil {
		return nil, err
	}
	role := regexp.MustCompile("^[a-z]+" + strings.ToUpper(function[:1]) + function[1:] + "Role[0-9A-F]{8}$")
	calls, found := map[string]bool{}, false
	for name, resource := range template.Resources {
		if !role.MatchString(name) {
			continue
		}
		found = true
		for _, policy := range resource.Properties.Policies {
			for _, statement := range policy.PolicyDocument.Statement {
				for _, action := range many(statement.Action) {
					if other := otherNames()[action]; other != "" {
						action = other
					}
					if !slices.Contains(noCalls(), action) {
						calls[action] = true
					}
				}
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("the template has no role whose name matches %s", role)
	}
	return slices.Sorted(maps.Keys(calls)), nil
}

// many reads a value that is one text or a list of texts.
func many(value any) []string {
	if one, ok := value.(string); ok {
		return []string{one}
	}
	var all []string
	list, _ := value.([]any)
	for _, each := range list {
		all = append(all, fmt.Sprint(each))
	}
	return all
}
