package infra

import (
	"reflect"
	"strings"
	"testing"
)

// installation returns the custom resource and its logical id.
func installation(t *testing.T, in template) (string, resource) {
	t.Helper()
	for id, r := range in.ofType("Custom::WhittleInstall") {
		return id, r
	}
	t.Fatal("the template has no Custom::WhittleInstall")
	return "", resource{}
}

func TestInstallComesBetweenAccessAndWork(t *testing.T) {
	template := synthesize(t, "prod")
	id, install := installation(t, template)
	for entry := range template.ofType("AWS::EKS::AccessEntry") {
		if !install.dependsOn(entry) {
			t.Errorf("%s does not wait for %s", id, entry)
		}
	}
	for _, kind := range []string{"AWS::Scheduler::Schedule", "AWS::Events::Rule"} {
		for waker, r := range template.ofType(kind) {
			if !r.dependsOn(id) {
				t.Errorf("%s wakes functions before the cluster knows them: it does not wait for %s", waker, id)
			}
		}
	}
}

func TestInstallRunsAgainWhenItsExecutableChanges(t *testing.T) {
	folder := builtFunctions(t)
	context := map[string]any{"clusters": "prod", "functions": folder}
	hash := func() any {
		_, install := installation(t, synthesizeWith(t, context))
		return install.Properties["ManifestHash"]
	}
	first := hash()
	writeBootstrap(t, folder, "provision", "#!/bin/sh\n# another\n", 0o755)
	if second := hash(); second != first {
		t.Errorf("a change of another function changes the hash from %v to %v", first, second)
	}
	writeBootstrap(t, folder, "install", "#!/bin/sh\n# another\n", 0o755)
	if third := hash(); third == first {
		t.Errorf("a change of the install function leaves the hash %v", first)
	}
}

func TestInstallProperties(t *testing.T) {
	template := synthesize(t, "prod")
	_, install := installation(t, template)
	function, _ := template.function(t, "whittle-prod-install")
	if got := install.Properties["ServiceToken"]; !reflect.DeepEqual(got, attribute(function, "Arn")) {
		t.Errorf("service token %v, want the ARN of %s", got, function)
	}
	if got := install.Properties["ClusterName"]; got != "prod" {
		t.Errorf("ClusterName is %v", got)
	}
	_, f := template.function(t, "whittle-prod-install")
	catalog, _ := template.function(t, "whittle-prod-catalog")
	variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	if got := variables["CATALOG_FUNCTION"]; !reflect.DeepEqual(got, map[string]any{"Ref": catalog}) {
		t.Errorf("CATALOG_FUNCTION is %v", got)
	}
}

// TestInstallKnowsWhatItMayAccept holds that install runs again when a setting changes what it accepts.
func TestInstallKnowsWhatItMayAccept(t *testing.T) {
	for key, settings := range map[string]map[string]any{
		"FUNCTIONS_IN_VPC": {"subnets": "subnet-0a1b2c3d", "securityGroups": "sg-0a1b2c3d"},
		"ALLOW_AUTO_MODE":  {"allowAutoMode": "true"},
	} {
		for _, want := range []any{"true", nil} {
			template := chosen(t, settings)
			_, f := template.function(t, "whittle-prod-install")
			_, install := installation(t, template)
			variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			if variables[key] != want || install.Properties[key] != want {
				t.Errorf("%s is %v for the function and %v for the resource, want %v",
					key, variables[key], install.Properties[key], want)
			}
			settings = map[string]any{}
		}
	}
}

func TestAccessEntries(t *testing.T) {
	template := synthesize(t, "prod")
	byRole := map[string]resource{}
	for id, entry := range template.ofType("AWS::EKS::AccessEntry") {
		if entry.Properties["ClusterName"] != "prod" {
			t.Errorf("%s is for the cluster %v", id, entry.Properties["ClusterName"])
		}
		byRole[references(entry.Properties["PrincipalArn"])[0]] = entry
	}
	for _, name := range []string{"provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog"} {
		role, _ := functionRole(t, template, name)
		got := byRole[role].Properties
		groups := []any{"whittle:" + name}
		if name == "lifecycle" {
			groups = append(groups, "whittle:binding")
		}
		if got["Type"] != "STANDARD" || got["AccessPolicies"] != nil || !reflect.DeepEqual(got["KubernetesGroups"], groups) {
			t.Errorf("the entry of %s is %v", name, got)
		}
	}
	ticker, _ := functionRole(t, template, "ticker")
	if entry, ok := byRole[ticker]; ok {
		t.Errorf("the ticker has the entry %v", entry)
	}
	install, _ := functionRole(t, template, "install")
	policies, _ := byRole[install].Properties["AccessPolicies"].([]any)
	if len(policies) != 1 || byRole[install].Properties["KubernetesGroups"] != nil {
		t.Fatalf("the entry of install is %v", byRole[install].Properties)
	}
	policy := policies[0].(map[string]any)
	if !reflect.DeepEqual(policy["AccessScope"], map[string]any{"Type": "cluster"}) ||
		!reflect.DeepEqual(
			policy["PolicyArn"],
			map[string]any{"Fn::Sub": "arn:${AWS::Partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"},
		) {
		t.Errorf("install's access policy is %v", policy)
	}
	nodes := 0
	for role, entry := range byRole {
		if entry.Properties["Type"] == "EC2_LINUX" {
			nodes++
			if !strings.HasPrefix(role, "prodNodeRole") {
				t.Errorf("%s joins nodes", role)
			}
		}
	}
	if nodes != 1 {
		t.Errorf("%d entries for nodes, want 1", nodes)
	}
}
