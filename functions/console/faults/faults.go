// Package faults says what is wrong with a NodePool or an EC2NodeClass, with the word that was probably
// meant.
//
// Its place: `whittle plan` of files and `whittle check` tell all faults of an object at once.
package faults

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nearest"
)

// Of returns the problems in the error of an object's Validate. Each has a question after the word that was
// probably meant.
func Of(err error) []*api.FieldError {
	var joined interface{ Unwrap() []error }
	errs := []error{err}
	if errors.As(err, &joined) {
		errs = joined.Unwrap()
	}
	var all []*api.FieldError
	for _, err := range errs {
		var field *api.FieldError
		if errors.As(err, &field) {
			asked := *field
			if question := meant(field); question != "" {
				// The word that was meant stands for a long list.
				if list := " or one of " + strings.Join(field.Choices, ", "); len(field.Choices) > longList {
					asked.Problem = strings.TrimSuffix(asked.Problem, list)
				}
				asked.Problem += question
			}
			all = append(all, &asked)
		}
	}
	return all
}

// longList is how many choices a message lists beside the one that was meant.
const longList = 10

// meant is a question after the choice that is nearest to the value; empty if none is near.
func meant(field *api.FieldError) string {
	var given []string
	if len(field.Choices) < 2 {
		return "" // the problem's text names it
	}
	switch value := field.Value.(type) {
	case string:
		given = []string{value}
	case []string:
		given = value
	}
	var words []string
	for _, one := range given {
		family, version, isAlias := strings.Cut(one, "@")
		word := nearest.Fold(family, field.Choices)
		if word != "" && isAlias {
			word += "@" + version
			if near := newest(version); near != "" {
				word = strings.TrimSuffix(word, version) + near
			}
		}
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return Question(words...)
}

// Question asks whether one of the words was meant; empty without words.
func Question(words ...string) string {
	var quoted []string
	for _, word := range words {
		if word != "" {
			quoted = append(quoted, fmt.Sprintf("%q", word))
		}
	}
	if len(quoted) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(quoted, " or ") + "?"
}

// releases match the versions of an alias that EKS has released, by family.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
// https://github.com/bottlerocket-os/bottlerocket/releases
var releases = map[string]*regexp.Regexp{
	api.AMIFamilyAL2:          regexp.MustCompile(`^v?20[0-9]{6}$`),
	api.AMIFamilyAL2023:       regexp.MustCompile(`^v?20[0-9]{6}$`),
	api.AMIFamilyBottlerocket: regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-f]+)?$`),
}

// examples are versions by family.
var examples = map[string]string{
	api.AMIFamilyAL2: "v20251112", api.AMIFamilyAL2023: "v20261120", api.AMIFamilyBottlerocket: "v1.50.0",
}

// newest is the version latest where a version is a misspelling of it; otherwise empty.
func newest(version string) string {
	if version == api.AliasVersionLatest {
		return ""
	}
	return nearest.Fold(version, []string{api.AliasVersionLatest})
}

// Alias returns the fault of a valid alias whose version has no form of a release, so that no image will
// be found; nil for none.
func Alias(class *api.EC2NodeClass) *api.FieldError {
	for i, term := range class.Spec.AMISelectorTerms {
		alias, isAlias := api.ParseAlias(term.Alias)
		form := releases[alias.Family]
		if !isAlias || form == nil || alias.Version == api.AliasVersionLatest || form.MatchString(alias.Version) {
			continue
		}
		family, _, _ := strings.Cut(term.Alias, "@")
		problem := fmt.Sprintf("has a version that no release has: write %s@%s, or one such as %s@%s", family,
			api.AliasVersionLatest, family, examples[alias.Family])
		if near := newest(alias.Version); near != "" {
			problem += Question(family + "@" + near)
		}
		return &api.FieldError{
			Kind: api.EC2NodeClassKind, Name: class.Name, Path: fmt.Sprintf("spec.amiSelectorTerms[%d].alias", i),
			Value: term.Alias, Problem: problem,
		}
	}
	return nil
}

// Classless reports whether a NodePool names an EC2NodeClass that is not among the given ones. near is a
// question after the one that was probably meant.
func Classless(pool *api.NodePool, classes []api.EC2NodeClass) (name, near string, without bool) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	if ref == nil || ref.Group != api.AWSGroup || ref.Kind != api.EC2NodeClassKind {
		return "", "", false
	}
	var names []string
	for i := range classes {
		if classes[i].Name == ref.Name {
			return "", "", false
		}
		names = append(names, classes[i].Name)
	}
	return ref.Name, Question(nearest.Fold(ref.Name, names)), true
}
