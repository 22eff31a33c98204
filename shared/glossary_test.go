package shared_test

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// userGlossary explains the words that a user meets.
const userGlossary = "functions/glossary.md"

var (
	glossaryRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| \[[^\]]+\]\(([^)]+)\) \|$`)
	blanks      = regexp.MustCompile(`\s+`)
	marks       = strings.NewReplacer("`", "", "*", "")
)

// TestEachTermOfTheGlossaryIsInUse checks that the page that a row names has the term, and that a text in
// the code or a second page has it too. A term that is gone from them fails it.
func TestEachTermOfTheGlossaryIsInUse(t *testing.T) {
	all := pages(t)
	texts := map[string]string{}
	for path, page := range all {
		texts[path] = plain(string(page.source))
	}
	delete(texts, userGlossary)
	var code strings.Builder
	for _, folder := range []string{".", "../functions", "../infra"} {
		for _, file := range goFiles(t, folder) {
			writeTexts(&code, parse(t, file))
		}
	}
	texts["the code"] = plain(code.String())
	var terms []string
	for _, row := range glossaryRow.FindAllStringSubmatch(string(all[userGlossary].source), -1) {
		page := path.Join(path.Dir(userGlossary), row[3])
		for term := range strings.SplitSeq(row[1], ", ") {
			terms = append(terms, strings.ToLower(term))
			if !hasTerm(texts[page], term) {
				t.Errorf("%s: %s does not have the term %q", userGlossary, page, term)
			}
			others := 0
			for path, text := range texts {
				if path != page && hasTerm(text, term) {
					others++
				}
			}
			if others == 0 {
				t.Errorf("%s: neither the code nor a second page has the term %q", userGlossary, term)
			}
		}
		if strings.HasSuffix(row[2], ".") || len(strings.Fields(row[2])) > maximumWords {
			t.Errorf("%s: the meaning of %q is not one short sentence without a full stop", userGlossary, row[1])
		}
	}
	if len(terms) < 40 || !slices.IsSorted(terms) {
		t.Errorf("%d terms, sorted: %t: %q", len(terms), slices.IsSorted(terms), terms)
	}
}

// writeTexts writes the texts of a file's code, a line each.
func writeTexts(out *strings.Builder, file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			out.WriteString(strings.Trim(literal.Value, "`\"") + "\n")
		}
		return true
	})
}

// plain is a text in small letters without marks, with one blank between words.
func plain(text string) string {
	return blanks.ReplaceAllString(marks.Replace(strings.ToLower(text)), " ")
}

// hasTerm reports whether a plain text has a term as whole words, in the plural too, or with the end of a verb.
func hasTerm(text, term string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.ToLower(term)) + `(s|es|ed)?\b`).MatchString(text)
}

func TestHasTerm(t *testing.T) {
	for text, want := range map[string]bool{
		"a `Lower\nbound` of it": true, "two lower bounds": true, "a lower boundary": false, "lower": false,
	} {
		if got := hasTerm(plain(text), "Lower bound"); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
