package infra

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestNodesOfEachPartition holds that EC2 may assume the role of nodes under its partition's name, and that nodes of
// IPv6 clusters may assign their addresses.
func TestNodesOfEachPartition(t *testing.T) {
	template := synthesizeWith(t, map[string]any{
		"clusters": "prod", "functions": builtFunctions(t), "windowsNodes": "true",
	})
	found := 0
	for id, role := range template.ofType("AWS::IAM::Role") {
		if !strings.HasPrefix(id, "prodNode") {
			continue
		}
		found++
		statement := role.Properties["AssumeRolePolicyDocument"].(map[string]any)["Statement"].([]any)[0].(map[string]any)
		want := map[string]any{"Service": map[string]any{"Fn::Sub": "ec2.${AWS::URLSuffix}"}}
		if !reflect.DeepEqual(statement["Principal"], want) {
			t.Errorf("%s trusts %v, want %v", id, statement["Principal"], want)
		}
		if encoded, err := json.Marshal(role.Properties["Policies"]); err != nil ||
			!strings.Contains(string(encoded), `"ec2:AssignIpv6Addresses"`) {
			t.Errorf("%s may not assign IPv6 addresses", id)
		}
	}
	if found != 2 {
		t.Errorf("%d roles of nodes, want those of Linux and Windows", found)
	}
}

// TestTheTableOfPartitionsNamesTests checks that each test that the page names exists.
func TestTheTableOfPartitionsNamesTests(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "**Regions, partitions and zones.**")
	section, _, _ = strings.Cut(section, "\n**")
	named := map[string]bool{}
	for _, match := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(section, -1) {
		named[match[1]] = true
	}
	if len(named) < 5 {
		t.Fatalf("the table names %d tests", len(named))
	}
	for _, root := range []string{".", "../functions", "../shared"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for name := range named {
				if strings.Contains(string(content), "func "+name+"(") {
					delete(named, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range named {
		t.Errorf("README.md names %s, which does not exist", name)
	}
}
