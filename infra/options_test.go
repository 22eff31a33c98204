package infra

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// chosen returns the template for the cluster prod with the given settings.
func chosen(t *testing.T, settings map[string]any) template {
	t.Helper()
	settings["clusters"], settings["functions"] = "prod", builtFunctions(t)
	return synthesizeWith(t, settings)
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestFunctionsInAVPC(t *testing.T) {
	template := chosen(
		t,
		map[string]any{
			"subnets": "subnet-0a1b2c3d,subnet-4e5f6a7b", "securityGroups": "sg-0a1b2c3d", "clusterSecurityGroup": "sg-4e5f6a7b",
		},
	)
	install, _ := installation(t, template)
	for _, name := range functionNames() {
		_, f := template.function(t, "whittle-prod-"+name)
		_, role := functionRole(t, template, name)
		effects := map[string]string{}
		resources := map[string]string{}
		for _, s := range statements(t, role) {
			if slices.Contains(s.actions, "ec2:CreateNetworkInterface") {
				effects[s.effect] = encoded(t, s.conditions)
				resources[s.effect] = encoded(t, s.resources)
			}
		}
		if name == "ticker" {
			if f.Properties["VpcConfig"] != nil || len(effects) > 0 {
				t.Errorf("the ticker, which speaks to SQS alone, is in the VPC")
			}
			continue
		}
		want := map[string]any{
			"SubnetIds": []any{"subnet-0a1b2c3d", "subnet-4e5f6a7b"}, "SecurityGroupIds": []any{"sg-0a1b2c3d"},
		}
		if !reflect.DeepEqual(f.Properties["VpcConfig"], want) {
			t.Errorf("%s is in %v", name, f.Properties["VpcConfig"])
		}
		for _, shared := range []string{":*:subnet/*", ":*:security-group/*"} {
			if !strings.Contains(resources["Allow"], shared) || !strings.Contains(resources["Deny"], shared) {
				t.Errorf("%s: network interfaces in %v, want them in subnets that another account shares", name, resources)
			}
		}
		if effects["Allow"] != "null" || !strings.Contains(effects["Deny"], "function:whittle-prod-"+name) {
			t.Errorf("%s: network interfaces by %v, want them for Lambda and not for the code", name, effects)
		}
	}
	rules := template.ofType("AWS::EC2::SecurityGroupIngress")
	if len(rules) != 1 {
		t.Fatalf("%d rules, want one", len(rules))
	}
	for id, rule := range rules {
		for property, want := range map[string]any{
			"GroupId": "sg-4e5f6a7b", "SourceSecurityGroupId": "sg-0a1b2c3d", "IpProtocol": "tcp", "FromPort": 443.0,
			"ToPort": 443.0,
		} {
			if rule.Properties[property] != want {
				t.Errorf("%s is %v, want %v", property, rule.Properties[property], want)
			}
		}
		if _, r := installation(t, template); !r.dependsOn(id) {
			t.Errorf("%s does not wait for the way to the cluster", install)
		}
	}
}

func TestAKeyOfTheUsers(t *testing.T) {
	const key = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	template := chosen(t, map[string]any{"kmsKey": key})
	for id, queue := range template.ofType("AWS::SQS::Queue") {
		if queue.Properties["QueueName"] == "whittle-prod-undelivered" {
			continue // TestUndeliveredEventsAreKept
		}
		if queue.Properties["KmsMasterKeyId"] != key || queue.Properties["SqsManagedSseEnabled"] == true {
			t.Errorf("%s is encrypted with %v", id, queue.Properties["KmsMasterKeyId"])
		}
	}
	for id, group := range template.ofType("AWS::Logs::LogGroup") {
		if group.Properties["KmsKeyId"] != key {
			t.Errorf("%s is encrypted with %v", id, group.Properties["KmsKeyId"])
		}
	}
	for _, name := range functionNames() {
		_, role := functionRole(t, template, name)
		i := slices.IndexFunc(
			statements(t, role), func(s statement) bool { return slices.Contains(s.actions, "kms:Decrypt") },
		)
		if i < 0 {
			t.Errorf("%s may not use the key", name)
			continue
		}
		if s := statements(t, role)[i]; !slices.Equal(s.resources, []any{key}) ||
			!strings.Contains(encoded(t, s.conditions), "kms:ViaService") {
			t.Errorf("%s may use %v where %v", name, s.resources, s.conditions)
		}
	}
}

func TestVolumesWithKeysOfTheUsers(t *testing.T) {
	const own = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	const shared = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	template := chosen(t, map[string]any{"volumeKeys": own + "," + shared})
	const byEC2 = `"StringEquals":{"kms:ViaService":{"Fn::Sub":"ec2.${AWS::Region}.amazonaws.com"}}`
	for _, name := range functionNames() {
		_, role := functionRole(t, template, name)
		got := map[string]string{} // conditions by action
		for _, s := range statements(t, role) {
			for _, action := range s.actions {
				if !strings.HasPrefix(action, "kms:") {
					continue
				}
				got[action] = encoded(t, s.conditions)
				if encoded(t, s.resources) != encoded(t, []string{shared, own}) {
					t.Errorf("%s may %s on %v", name, action, s.resources)
				}
			}
		}
		want := map[string]string{}
		if name == "provision" {
			for _, action := range []string{
				"Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo",
			} {
				want["kms:"+action] = "{" + byEC2 + "}"
			}
			// Without the condition, provision could give the key to anybody.
			want["kms:CreateGrant"] = `{"Bool":{"kms:GrantIsForAWSResource":"true"},` + byEC2 + "}"
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: rights to keys %v, want %v", name, got, want)
		}
	}
}

func TestABoundaryIsOnEveryRole(t *testing.T) {
	const boundary = "arn:aws:iam::123456789012:policy/boundary"
	for id, role := range chosen(t, map[string]any{"permissionBoundary": boundary}).ofType("AWS::IAM::Role") {
		if role.Properties["PermissionsBoundary"] != boundary {
			t.Errorf("%s is bounded by %v", id, role.Properties["PermissionsBoundary"])
		}
	}
}

func TestAnExistingNodeRole(t *testing.T) {
	const nodes = "arn:aws:iam::123456789012:role/team/nodes"
	template := chosen(t, map[string]any{"nodeRole": nodes})
	if made := len(template.ofType("AWS::IAM::Role")); made != 11 ||
		len(template.ofType("AWS::IAM::InstanceProfile")) > 0 || len(template.Outputs) != 4 {
		t.Errorf("%d roles are made, and the outputs %v", made, template.Outputs)
	}
	for id, entry := range template.ofType("AWS::EKS::AccessEntry") {
		if entry.Properties["Type"] != "STANDARD" {
			t.Errorf("%s lets in %v, which the cluster does already", id, entry.Properties["PrincipalArn"])
		}
	}
	for _, name := range []string{"provision", "lifecycle"} {
		_, role := functionRole(t, template, name)
		for _, s := range statements(t, role) {
			if slices.Contains(s.actions, "iam:PassRole") && !slices.Equal(s.resources, []any{nodes}) {
				t.Errorf("%s may pass %v", name, s.resources)
			}
		}
	}
}

// TestLifecycleKnowsTheRoleOfNodes checks the environment from which lifecycle makes classes for templates that
// name no instance profile. Lifecycle must be allowed to pass the role that it names.
func TestLifecycleKnowsTheRoleOfNodes(t *testing.T) {
	variables := func(template template, name string) map[string]any {
		_, f := template.function(t, "whittle-prod-"+name)
		return f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	}
	made := chosen(t, map[string]any{"windowsNodes": true})
	_, role := functionRole(t, made, "lifecycle")
	var passed []any
	for _, s := range statements(t, role) {
		if slices.Contains(s.actions, "iam:PassRole") {
			passed = s.resources
		}
	}
	got := variables(made, "lifecycle")
	for _, variable := range []string{"NODE_ROLE", "WINDOWS_NODE_ROLE"} {
		target := references(got[variable])
		if len(target) != 1 || made.Resources[target[0]].Type != "AWS::IAM::Role" ||
			!slices.Contains(references(passed), target[0]) {
			t.Errorf("%s is %v, want a role of nodes among %v", variable, got[variable], passed)
		}
	}
	if encoded(t, got["NODE_ROLE"]) == encoded(t, got["WINDOWS_NODE_ROLE"]) || got["DEFAULT_INSTANCE_PROFILE"] != nil {
		t.Errorf("the variables are %v", got)
	}
	if variables(made, "provision")["NODE_ROLE"] != nil {
		t.Error("provision has a variable that it does not read")
	}
	got = variables(chosen(t, map[string]any{
		"nodeRole": "arn:aws:iam::123456789012:role/team/nodes", "defaultInstanceProfile": "old-nodes",
	}), "lifecycle")
	if got["NODE_ROLE"] != "nodes" || got["DEFAULT_INSTANCE_PROFILE"] != "old-nodes" || got["WINDOWS_NODE_ROLE"] != nil {
		t.Errorf("with settings the variables are %v", got)
	}
}

func TestARoleForWindows(t *testing.T) {
	template := chosen(t, map[string]any{"windowsNodes": true})
	roles := map[any]string{}
	for _, entry := range template.ofType("AWS::EKS::AccessEntry") {
		roles[entry.Properties["Type"]] = references(entry.Properties["PrincipalArn"])[0]
	}
	if roles["EC2_WINDOWS"] == "" || roles["EC2_LINUX"] == "" || roles["EC2_WINDOWS"] == roles["EC2_LINUX"] {
		t.Errorf("nodes are let in as %v, want a role for each system", roles)
	}
	_, role := functionRole(t, template, "provision")
	for _, s := range statements(t, role) {
		if slices.Contains(s.actions, "iam:PassRole") && len(s.resources) != 2 {
			t.Errorf("provision may pass %v", s.resources)
		}
	}
}

func TestConfigMapModePrintsItsLines(t *testing.T) {
	template := chosen(t, map[string]any{"authenticationMode": "CONFIG_MAP", "windowsNodes": true})
	if entries := template.ofType("AWS::EKS::AccessEntry"); len(entries) > 0 {
		t.Errorf("access entries %v, which the cluster would refuse", entries)
	}
	_, install := installation(t, template)
	lines := encoded(t, install.Properties["MapRoles"])
	for _, part := range []string{
		`username: whittle:provision\n  groups: [whittle:provision]`, `username: whittle:install\n  groups: [system:masters]`,
		`username: system:node:{{EC2PrivateDNSName}}\n  groups: [system:bootstrappers, system:nodes]`,
		`eks:kube-proxy-windows]`, "prodCatalogRole",
	} {
		if !strings.Contains(lines, part) {
			t.Errorf("the lines %s lack %s", lines, part)
		}
	}
	if strings.Contains(lines, "Ticker") {
		t.Error("the ticker is let in")
	}
	// The lines for aws-auth stay valid only if the roles keep their names.
	for id, role := range template.ofType("AWS::IAM::Role") {
		if strings.Contains(id, "Schedule") {
			continue
		}
		if name := encoded(t, role.Properties["RoleName"]); !strings.Contains(name, "${AWS::Region}") || len(name) > 90 {
			t.Errorf("%s is named %s", id, name)
		}
	}
}

func TestTagsAreOnEverythingThatTakesThem(t *testing.T) {
	template := chosen(t, map[string]any{"tags": "team=platform"})
	for _, kind := range []string{
		"AWS::IAM::Role", "AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::Logs::LogGroup", "AWS::CloudWatch::Alarm",
		"AWS::EKS::AccessEntry",
	} {
		for id, r := range template.ofType(kind) {
			if !strings.Contains(encoded(t, r.Properties["Tags"]), `{"Key":"team","Value":"platform"}`) {
				t.Errorf("%s has the tags %v", id, r.Properties["Tags"])
			}
		}
	}
}

// TestADryRunHasNoRightToAct checks that the roles lack the rights to change anything.
func TestADryRunHasNoRightToAct(t *testing.T) {
	template := chosen(t, map[string]any{"dryRun": true})
	for _, name := range functionNames() {
		_, f := template.function(t, "whittle-prod-"+name)
		dry := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["DRY_RUN"]
		if acts := slices.Contains(queueNames(), name); acts != (dry == "true") {
			t.Errorf("%s: DRY_RUN is %v", name, dry)
		}
		told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["FUNCTIONS_DRY_RUN"]
		if (name == "install") != (told == "true") {
			t.Errorf("%s: FUNCTIONS_DRY_RUN is %v", name, told)
		}
		_, role := functionRole(t, template, name)
		for _, s := range statements(t, role) {
			for _, action := range s.actions {
				service, call, _ := strings.Cut(action, ":")
				if (service == "ec2" || service == "iam") && !strings.HasPrefix(call, "Describe") &&
					!strings.HasPrefix(call, "Get") && !strings.HasPrefix(call, "List") {
					t.Errorf("%s may %s", name, action)
				}
			}
		}
	}
}

func TestMemoryAndRetention(t *testing.T) {
	template := chosen(t, map[string]any{"memory": "provision=2048", "logRetention": 90})
	for name, want := range map[string]float64{"provision": 2048, "disrupt": 1536} {
		if _, f := template.function(t, "whittle-prod-"+name); f.Properties["MemorySize"] != want {
			t.Errorf("%s has %v MB, want %v", name, f.Properties["MemorySize"], want)
		}
	}
	for id, group := range template.ofType("AWS::Logs::LogGroup") {
		if group.Properties["RetentionInDays"] != 90.0 {
			t.Errorf("%s is kept for %v days", id, group.Properties["RetentionInDays"])
		}
	}
}

// Nodes outlive the stack, so their roles and access entries stay. The rest goes with it.
func TestWhatNodesLiveByOutlivesTheStack(t *testing.T) {
	kept := map[string]int{}
	for id, r := range chosen(t, map[string]any{"windowsNodes": true}).Resources {
		if r.DeletionPolicy == "RetainExceptOnCreate" {
			kept[r.Type]++
			continue
		}
		if r.DeletionPolicy != "" && r.DeletionPolicy != "Delete" {
			t.Errorf("%s has the deletion policy %s", id, r.DeletionPolicy)
		}
	}
	if want := map[string]int{
		"AWS::IAM::Role": 2, "AWS::IAM::InstanceProfile": 2, "AWS::EKS::AccessEntry": 2,
	}; !maps.Equal(kept, want) {
		t.Errorf("kept are %v, want %v", kept, want)
	}
}

// TestNodePoolsHaveMetricsWhereASettingNamesThem holds that lifecycle learns the names, that the dashboard shows
// them, and that nobody pays for others.
func TestNodePoolsHaveMetricsWhereASettingNamesThem(t *testing.T) {
	for name, test := range map[string]struct {
		settings map[string]any
		pools    string
		shown    []string
	}{
		"two pools": {map[string]any{"nodePoolMetrics": "gpu, default,gpu"}, "default,gpu", []string{"default", "gpu"}},
		"none":      {map[string]any{}, "", nil},
	} {
		template := chosen(t, test.settings)
		for _, function := range functionNames() {
			_, f := template.function(t, "whittle-prod-"+function)
			got, _ := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["NODEPOOL_METRICS"].(string)
			if want := test.pools; function == "lifecycle" && got != want || function != "lifecycle" && got != "" {
				t.Errorf("%s: %s has the pools %q", name, function, got)
			}
		}
		body := strings.ReplaceAll(encoded(t, template.ofType("AWS::CloudWatch::Dashboard")), `\"`, `"`)
		for _, metric := range metrics.OfPools() {
			for _, pool := range test.shown {
				want := fmt.Sprintf(`"%s","Cluster","prod","NodePool","%s"`, metric.Name, pool)
				if !strings.Contains(body, want) {
					t.Errorf("%s: %s of %s is not shown", name, metric.Name, pool)
				}
			}
			if len(test.shown) == 0 && strings.Contains(body, string(metric.Name)) {
				t.Errorf("%s: %s is shown", name, metric.Name)
			}
		}
	}
}
