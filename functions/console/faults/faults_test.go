package faults_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/shared/api"
)

func TestAlias(t *testing.T) {
	for alias, want := range map[string]string{
		"al2023@latest": "", "al2023@v20261120": "", "al2@v20251112": "", "bottlerocket@v1.50.0": "",
		"bottlerocket@1.50.0":          "",
		"bottlerocket@1.50.0-5d9ac849": "", "windows2022@latest": "", "nothing@latest": "", "": "",
		"al2023@latst": `did you mean "al2023@latest"?`, "al2023@Latest": `did you mean "al2023@latest"?`,
		"al2023@1.36": "one such as al2023@v20261120", "bottlerocket@lastest": `did you mean "bottlerocket@latest"?`,
		"bottlerocket@v20261120": "write bottlerocket@latest, or one such as bottlerocket@v1.50.0",
	} {
		class := &api.EC2NodeClass{}
		class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: alias}}
		switch fault := faults.Alias(class); {
		case fault == nil && want != "", fault != nil && want == "":
			t.Errorf("%s: %v", alias, fault)
		case fault != nil && !strings.HasSuffix(fault.Error(), want):
			t.Errorf("%s: %v, want %q", alias, fault, want)
		}
	}
}

func TestOf(t *testing.T) {
	field := func(value any, choices ...string) error {
		return &api.FieldError{
			Kind: "K", Name: "n", Path: "spec.a", Value: value, Problem: "is wrong: use one of some", Choices: choices,
		}
	}
	got := faults.Of(errors.Join(
		field("ALPHA", "alpha", "beta"), field([]string{"alpa", "betta", "x"}, "alpha", "beta"),
		field("gamma", "alpha", "beta"),
		field("alpa", "alpha"), field(7),
	))
	for i, want := range []string{
		`"ALPHA" is wrong: use one of some: did you mean "alpha"?`,
		`[alpa betta x] is wrong: use one of some: did you mean "alpha" or "beta"?`,
		`"gamma" is wrong: use one of some`, `"alpa" is wrong: use one of some`, `7 is wrong: use one of some`,
	} {
		if i >= len(got) || got[i].Text() != want {
			t.Errorf("%d: %v, want %q", i, got, want)
		}
	}
	if len(faults.Of(nil)) != 0 {
		t.Error("no error has faults")
	}
}

func TestClassless(t *testing.T) {
	pool := &api.NodePool{}
	classes := make([]api.EC2NodeClass, 2)
	classes[0].Name, classes[1].Name = "default", "gpu"
	for name, want := range map[string]string{"defualt": `: did you mean "default"?`, "elsewhere": ""} {
		pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
			Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: name,
		}
		if got, near, without := faults.Classless(pool, classes); got != name || near != want || !without {
			t.Errorf("%s: %q, %q, %v", name, got, near, without)
		}
	}
	pool.Spec.Template.Spec.NodeClassRef.Name = "gpu"
	if _, _, without := faults.Classless(pool, classes); without {
		t.Error("a class that exists is missing")
	}
}
