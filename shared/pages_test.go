package shared_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maximumWords is how many words a sentence of a page may have.
const maximumWords = 30

// page is a Markdown file of the repository.
type page struct {
	// path is relative to the repository's root, with slashes.
	path   string
	source []byte
	tree   ast.Node
}

// pages returns every Markdown file by its path.
func pages(t *testing.T) map[string]page {
	t.Helper()
	found := map[string]page{}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "build", "bin", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		source, err := os.ReadFile(path)
		relative := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		found[relative] = page{path: relative, source: source, tree: markdown.Parse(text.NewReader(source))}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPagesHaveNoDeadLinks checks that each relative link names a file or folder, and each anchor a
// heading.
func TestPagesHaveNoDeadLinks(t *testing.T) {
	all := pages(t)
	for _, p := range all {
		for _, destination := range p.links(t) {
			if fault := p.checkLink(all, destination); fault != "" {
				t.Errorf("%s: link %q: %s", p.path, destination, fault)
			}
		}
	}
}

// TestPagesHaveShortSentences checks the length of each sentence outside code blocks.
func TestPagesHaveShortSentences(t *testing.T) {
	for _, p := range pages(t) {
		for _, sentence := range p.sentences(t) {
			words := strings.Fields(sentence)
			if len(words) > maximumWords {
				t.Errorf("%s: %d words, at most %d are readable: %s", p.path, len(words), maximumWords, sentence)
			}
		}
	}
}

// links returns the destinations of the page's links and pictures.
func (p page) links(t *testing.T) []string {
	t.Helper()
	var destinations []string
	p.walk(t, func(node ast.Node) ast.WalkStatus {
		switch node := node.(type) {
		case *ast.Link:
			destinations = append(destinations, string(node.Destination))
		case *ast.Image:
			destinations = append(destinations, string(node.Destination))
		}
		return ast.WalkContinue
	})
	return destinations
}

// checkLink says what is wrong with a link, or nothing. It does not follow links to other sites.
func (p page) checkLink(all map[string]page, destination string) string {
	link, err := url.Parse(destination)
	if err != nil {
		return err.Error()
	}
	if link.Scheme != "" {
		return ""
	}
	target := p.path
	if link.Path != "" {
		target = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), filepath.FromSlash(link.Path)))
	}
	info, err := os.Stat(filepath.Join("..", filepath.FromSlash(target)))
	if err != nil {
		return "there is no such file or folder"
	}
	if link.Fragment == "" {
		return ""
	}
	if info.IsDir() {
		target += "/README.md"
	}
	other, ok := all[target]
	if !ok {
		return "an anchor needs a page"
	}
	if !slices.Contains(other.anchors(), link.Fragment) {
		return fmt.Sprintf("%s has no heading with this anchor", target)
	}
	return ""
}

// anchors returns the anchors that GitHub gives the page's headings. A repeated one gets a number.
func (p page) anchors() []string {
	var anchors []string
	seen := map[string]int{}
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		heading, ok := node.(*ast.Heading)
		if !ok {
			continue
		}
		name := anchor(p.text(heading, false))
		if count := seen[name]; count > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", name, count))
		} else {
			anchors = append(anchors, name)
		}
		seen[name]++
	}
	return anchors
}

// anchor is the lower-case heading with hyphens for spaces and without punctuation.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// sentences returns the sentences of paragraphs, headings, list items and table cells. A block ends
// a sentence.
func (p page) sentences(t *testing.T) []string {
	t.Helper()
	var found []string
	p.walk(t, func(node ast.Node) ast.WalkStatus {
		switch node.(type) {
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *extensionast.TableCell:
			found = append(found, split(p.text(node, true))...)
			return ast.WalkSkipChildren
		}
		return ast.WalkContinue
	})
	return found
}

var (
	endsSentence   = regexp.MustCompile(`[.?!][)"']*$`)
	startsSentence = regexp.MustCompile(`^[^\p{Ll}]`)
)

// split cuts a block into sentences. The word after a sentence does not begin with a small letter.
func split(block string) []string {
	var sentences []string
	var current []string
	words := strings.Fields(block)
	for i, word := range words {
		current = append(current, word)
		last := i+1 == len(words)
		if last || endsSentence.MatchString(word) && startsSentence.MatchString(words[i+1]) {
			sentences = append(sentences, strings.Join(current, " "))
			current = nil
		}
	}
	return sentences
}

// text returns a block's words. With short, a code span counts as one word, and a bare link as none.
func (p page) text(block ast.Node, short bool) string {
	var words strings.Builder
	for node := block.FirstChild(); node != nil; node = node.NextSibling() {
		switch node := node.(type) {
		case *ast.Text:
			words.Write(node.Value(p.source))
			if node.SoftLineBreak() || node.HardLineBreak() {
				words.WriteByte(' ')
			}
		case *ast.CodeSpan:
			if code := p.text(node, short); short {
				words.WriteString("`" + strings.ReplaceAll(code, " ", "_") + "`")
			} else {
				words.WriteString(code)
			}
		case *ast.AutoLink, *ast.RawHTML:
		default:
			words.WriteString(p.text(node, short))
		}
	}
	return words.String()
}

func (p page) walk(t *testing.T, visit func(ast.Node) ast.WalkStatus) {
	t.Helper()
	err := ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return visit(node), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSplit(t *testing.T) {
	for block, want := range map[string][]string{
		"One. Two is `code.` Three":            {"One.", "Two is `code.` Three"},
		"It costs $0.20/h. Is that much? No!":  {"It costs $0.20/h.", "Is that much?", "No!"},
		"Some kinds, e.g. pods, and v1.2 too.": {"Some kinds, e.g. pods, and v1.2 too."},
		"(One.) `two` follows. 3 nodes.":       {"(One.)", "`two` follows.", "3 nodes."},
		"":                                     nil,
	} {
		if got := split(block); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", block, got, want)
		}
	}
}

func TestAnchors(t *testing.T) {
	source := []byte("# What it *is*, in `code`\n\n## Again\n\n## Again\n\n## C++ & x_y-z (v1)\n")
	p := page{source: source, tree: goldmark.DefaultParser().Parse(text.NewReader(source))}
	want := []string{"what-it-is-in-code", "again", "again-1", "c--x_y-z-v1"}
	if got := p.anchors(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
