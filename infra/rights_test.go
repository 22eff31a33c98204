package infra

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/functions/install/manifests"
)

const rightsHead = `# Rights

This page lists what each role of the default stack may do, the code that does it, and the harm if its credentials
are stolen. ` + "`go test ./infra -run TestTheRightsPage -args -update`" + ` writes it from the template, the manifests of
the installation and the code. CLUSTER stands for the cluster's name. Settings add statements: see
[the settings](README.md#settings). [The threat model](security.md) says who could steal what.

"Lambda", "EC2" or "IAM" in place of code means that the service asks for the right on the function's behalf.
`

// harms says what somebody can do with a role: by function, or by the role's logical id.
var harms = map[string]string{
	"ticker": "Sends messages to the functions' queues. Each costs a pass. Nothing can be read.",
	"provision": "Launches instances with the node role and with user data of its own, up to EC2's quotas. Such an " +
		"instance is a node with root. Writes NodeClaims and Whittle's state. Reads all pods, and no Secrets.",
	"interrupt": "Ends each node of the cluster, by deletions of NodeClaims that drain within their grace periods. " +
		"Marks offerings as short. Nothing can be launched.",
	"lifecycle": "Terminates each instance that has the cluster's tags, and evicts or deletes each pod. Changes " +
		"EC2NodeClasses, whose user data are root on new nodes, and labels and taints of Nodes. Gives waiting pods any node.",
	"disrupt": "Replaces each node within its own judgement: creates and deletes NodeClaims, and taints Nodes. " +
		"Reads all pods, and no Secrets. Nothing can be launched in EC2.",
	"watch":   "Reads pods and nodes, and wakes the functions. Nothing can be changed but the Lease of the watch.",
	"catalog": "Writes wrong prices and types, which the next run replaces. Plans are dear or empty until then.",
	"install": "Is the cluster's administrator: everything in the cluster, Secrets included.",
	"console": "Reads nodes, pods' names and events of all namespaces, and the logs of four functions. Nothing can " +
		"be changed.",
	"node": "Is a node: pulls images, and reads what AWS's policies name. AmazonEKS_CNI_Policy changes network " +
		"interfaces of the account: the setting `nodeCNI: false` leaves it out.",
	"schedule": "Sends a tick, or invokes catalog. Nothing can be read.",
}

// TestTheRightsPage compares the page of rights with the template, the manifests and the code.
func TestTheRightsPage(t *testing.T) {
	code := readCode(t)
	var page strings.Builder
	page.WriteString(rightsHead)
	roles := templateRoles(t)
	for _, function := range slices.Sorted(maps.Keys(roles)) {
		harm := harms[function]
		if harm == "" {
			t.Errorf("role %q has no harm: say what somebody can do with its credentials", function)
		}
		fmt.Fprintf(&page, "\n## %s\n\n**If stolen:** %s\n\n", function, harm)
		page.WriteString(awsTable(t, code, function, roles[function]))
		if rules := clusterRules(t, "whittle:"+function); len(rules) > 0 {
			fmt.Fprintf(&page, "\nIn the cluster, group `whittle:%s`:\n\n", function)
			page.WriteString(clusterTable(t, code, function, rules))
		}
		for _, group := range groupsOfSettings(function) {
			setting := settingsOfGroups[strings.TrimSuffix(group, "-status")]
			if setting == "" {
				t.Errorf("no setting is named for the group %s", group)
			}
			fmt.Fprintf(&page, "\nIn the cluster with `%s`, group `%s`:\n\n", setting, group)
			page.WriteString(clusterTable(t, code, function, clusterRules(t, group)))
		}
	}
	path := "rights.md"
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil || string(written) != page.String() {
		t.Errorf("%s is old: run go test ./infra -run TestTheRightsPage -args -update (%v)", path, err)
	}
}

// settingsOfGroups are the settings that put functions into further groups.
var settingsOfGroups = map[string]string{
	"whittle:binding": "binding: plan", "whittle:pod-deletion-cost": "podDeletionCost: true",
	"whittle:capacity-buffers": "capacityBuffers: true", "whittle:provisioning-requests": "provisioningRequests: true",
}

// groupsOfSettings are the groups that the function has by settings.
func groupsOfSettings(name string) []string {
	all := clusterConfiguration{podDeletionCost: true, capacityBuffers: true, provisioningRequests: true}
	return groupsOf(&cluster{configuration: all}, function{name: name})[1:]
}

// policyRole is a role of the template.
type policyRole struct {
	Managed    []string
	Statements []policyStatement
}

type policyStatement struct {
	Sid, Effect      string
	Action, Resource any
	Condition        map[string]map[string]any
}

// templateRoles are the roles of the snapshot by function. The roles of schedules are one.
func templateRoles(t *testing.T) map[string]*policyRole {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "snapshot.json"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				ManagedPolicyArns []any
				Policies          []struct {
					PolicyDocument struct{ Statement []policyStatement }
				}
			}
		}
	}
	if err := json.Unmarshal(content, &template); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^prod([A-Z][a-z]+)(Schedule)?Role[0-9A-F]{8}$`)
	roles := map[string]*policyRole{}
	for _, id := range slices.Sorted(maps.Keys(template.Resources)) {
		resource := template.Resources[id]
		if resource.Type != "AWS::IAM::Role" {
			continue
		}
		parts := named.FindStringSubmatch(id)
		if parts == nil {
			t.Fatalf("role %s belongs to no function", id)
		}
		name := strings.ToLower(parts[1])
		if parts[2] != "" {
			name = "schedule"
		}
		if roles[name] == nil {
			roles[name] = &policyRole{}
		}
		for _, policy := range resource.Properties.Policies {
			roles[name].Statements = append(roles[name].Statements, policy.PolicyDocument.Statement...)
		}
		for _, arn := range resource.Properties.ManagedPolicyArns {
			text := shown(arn)
			roles[name].Managed = append(roles[name].Managed, text[strings.LastIndex(text, "/")+1:])
		}
	}
	return roles
}

func awsTable(t *testing.T, code *code, function string, role *policyRole) string {
	t.Helper()
	var table strings.Builder
	for _, policy := range role.Managed {
		fmt.Fprintf(&table, "* AWS's policy %s\n", policy)
	}
	if len(role.Statements) > 0 {
		table.WriteString("| in AWS | on | if | code |\n| --- | --- | --- | --- |\n")
	}
	for _, statement := range role.Statements {
		actions := texts(statement.Action)
		var callers []string
		for _, action := range actions {
			found := code.callers(function, action)
			if len(found) == 0 && function != "schedule" {
				t.Errorf("%s: nothing that it links calls %s: say in servicesAsk which service asks for it", function, action)
			}
			callers = append(callers, found...)
		}
		slices.Sort(callers)
		effect := ""
		if statement.Effect == "Deny" {
			effect = "never "
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", effect+quoted(actions), quoted(texts(statement.Resource)),
			conditionsOf(statement.Condition), strings.Join(slices.Compact(callers), ", "))
	}
	return table.String()
}

func conditionsOf(all map[string]map[string]any) string {
	var found []string
	for _, operator := range slices.Sorted(maps.Keys(all)) {
		for _, key := range slices.Sorted(maps.Keys(all[operator])) {
			values := texts(all[operator][key])
			if key = shown(key); operator != "StringEquals" && operator != "StringLike" {
				key = operator + " " + key
			}
			found = append(found, fmt.Sprintf("`%s` = `%s`", key, strings.Join(values, "`, `")))
		}
	}
	return strings.Join(found, "<br>")
}

func quoted(values []string) string { return "`" + strings.Join(values, "`<br>`") + "`" }

// texts are the values of a property that may be one value or a list.
func texts(value any) []string {
	list, several := value.([]any)
	if !several {
		return []string{shown(value)}
	}
	var all []string
	for _, item := range list {
		all = append(all, shown(item))
	}
	return all
}

var logicalID = regexp.MustCompile(`^prod(\w+?)[0-9A-F]{8}$`)

// shown is a value of the template for a reader, with the intrinsic functions carried out.
func shown(value any) string {
	switch value := value.(type) {
	case string:
		return strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::Region}", "REGION", "${AWS::AccountId}", "ACCOUNT",
			"/prod", "/CLUSTER", "-prod-", "-CLUSTER-", "prod", "CLUSTER").Replace(value)
	case map[string]any:
		for function, argument := range value {
			parts, _ := argument.([]any)
			switch function {
			case "Fn::Sub":
				return shown(argument)
			case "Ref":
				return shown("${" + argument.(string) + "}")
			case "Fn::GetAtt":
				if id := logicalID.FindStringSubmatch(parts[0].(string)); id != nil {
					return "this stack's " + id[1]
				}
			case "Fn::Join":
				return strings.Join(texts(parts[1]), parts[0].(string))
			}
		}
	}
	return fmt.Sprint(value)
}

// scopedRule is a rule of a Role in its namespace, or of a ClusterRole.
type scopedRule struct {
	namespace string
	rbacv1.PolicyRule
}

// clusterRules are the rules that a group gets.
func clusterRules(t *testing.T, group string) []scopedRule {
	t.Helper()
	objects, err := manifests.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	var rules []scopedRule
	for i := range objects {
		if kind := objects[i].GetKind(); objects[i].GetName() != group || kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			rules = append(rules, scopedRule{role.Namespace, rule})
		}
	}
	return rules
}

func clusterTable(t *testing.T, code *code, function string, rules []scopedRule) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| verbs | kinds | where | code |\n| --- | --- | --- | --- |\n")
	for _, rule := range rules {
		where := "everywhere"
		if rule.namespace != "" {
			where = "in namespace `" + rule.namespace + "`"
		}
		if len(rule.ResourceNames) > 0 {
			where = quoted(rule.ResourceNames) + ", " + where
		}
		var callers []string
		for _, resource := range rule.Resources {
			found := code.readers(function, resource)
			if len(found) == 0 {
				t.Errorf("%s: nothing that it links asks for %s", function, resource)
			}
			callers = append(callers, found...)
		}
		slices.Sort(callers)
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", strings.Join(rule.Verbs, ", "), quoted(rule.Resources), where,
			strings.Join(slices.Compact(callers), ", "))
	}
	return table.String()
}
