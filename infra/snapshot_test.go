package infra

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// replace lets TestTheTemplateIsTheSnapshot write a snapshot that lost logical ids.
var replace = flag.Bool("replace", false, "with -update: accept that resources are deleted, or replaced by others")

// TestTheTemplateIsTheSnapshot shows reviewers how a change affects deployed stacks. Lost logical
// ids need a flag of their own: CloudFormation deletes their resources, with messages and logs.
func TestTheTemplateIsTheSnapshot(t *testing.T) {
	path := filepath.Join("testdata", "snapshot.json")
	got := plain(t, synthesize(t, "prod").text)
	var want map[string]any
	if content, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(content, &want); err != nil {
			t.Fatal(err)
		}
	} else if !*update {
		t.Fatal(err)
	}
	lost := lostIDs(want, got)
	for _, line := range lost {
		if !*update || !*replace {
			t.Errorf(
				"%s: its resource would be deleted, or replaced by another: if that is meant, say so in the commit and run "+
					"go test ./infra -run Snapshot -args -update -replace",
				line,
			)
		}
	}
	if *update && !t.Failed() {
		content, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	changes := differences("", want, got)
	for _, change := range changes[:min(len(changes), 50)] {
		t.Error(change)
	}
	if len(changes) > 0 {
		t.Errorf(
			"%d differences from the snapshot: if they are meant, run go test ./infra -run Snapshot -args -update", len(changes),
		)
	}
}

// assetName matches the name of a function's file: the hash of its content.
var assetName = regexp.MustCompile(`^[0-9a-f]{64}(\.zip)?$`)

// plain returns a template without the parts that change with each build.
func plain(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	var walk func(value any) any
	walk = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for key, item := range v {
				v[key] = walk(item)
			}
		case []any:
			for i, item := range v {
				v[i] = walk(item)
			}
		case string:
			if assetName.MatchString(v) {
				return "HASH"
			}
		}
		return value
	}
	return walk(decoded).(map[string]any)
}

// lostIDs returns the logical ids that after lacks, or has with another type.
func lostIDs(before, after map[string]any) []string {
	kinds := func(template map[string]any) map[string]string {
		found := map[string]string{}
		resources, _ := template["Resources"].(map[string]any)
		for id, resource := range resources {
			found[id] = fmt.Sprint(resource.(map[string]any)["Type"])
		}
		return found
	}
	var lost []string
	now := kinds(after)
	for id, kind := range kinds(before) {
		if now[id] != kind {
			lost = append(lost, id+" ("+kind+")")
		}
	}
	slices.Sort(lost)
	return lost
}

// differences returns one line for each difference: the path, the old and the new value.
func differences(at string, before, after any) []string {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	a, aIsMap := before.(map[string]any)
	b, bIsMap := after.(map[string]any)
	if aIsMap && bIsMap {
		var lines []string
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			lines = append(lines, differences(strings.TrimPrefix(at+"."+key, "."), a[key], b[key])...)
		}
		return lines
	}
	listA, aIsList := before.([]any)
	listB, bIsList := after.([]any)
	if aIsList && bIsList && len(listA) == len(listB) {
		var lines []string
		for i := range listA {
			lines = append(lines, differences(fmt.Sprintf("%s[%d]", at, i), listA[i], listB[i])...)
		}
		return lines
	}
	return []string{fmt.Sprintf("%s:\n\twas %s\n\tis  %s", at, short(before), short(after))}
}

func short(value any) string {
	if value == nil {
		return "nothing"
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(encoded) > 400 {
		return string(encoded[:400]) + "..."
	}
	return string(encoded)
}

func TestDifferencesAreReadable(t *testing.T) {
	resource := func(kind string, timeout any) map[string]any {
		return map[string]any{"Type": kind, "Properties": map[string]any{"Timeout": timeout, "List": []any{1.0, timeout}}}
	}
	before := map[string]any{
		"Resources": map[string]any{"Kept": resource("A", 1.0), "Gone": resource("A", 1.0), "Other": resource("A", 1.0)},
	}
	after := map[string]any{"Resources": map[string]any{"Kept": resource("A", 2.0), "Other": resource("B", 1.0)}}
	if got := lostIDs(before, after); !slices.Equal(got, []string{"Gone (A)", "Other (A)"}) {
		t.Errorf("lost %q", got)
	}
	got := strings.Join(differences("", before, after), "\n")
	for _, part := range []string{
		"Resources.Kept.Properties.Timeout:\n\twas 1\n\tis  2", "Resources.Kept.Properties.List[1]:\n\twas 1",
		"Resources.Gone:\n\twas {", "\n\tis  nothing", "Resources.Other.Type:",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the differences do not say %q:\n%s", part, got)
		}
	}
	if lines := differences("", before, before); len(lines) > 0 {
		t.Errorf("what is the same differs: %q", lines)
	}
}
