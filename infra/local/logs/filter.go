package logs

import (
	"fmt"
	"strings"
)

// filter is an unstructured filter pattern.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
type filter struct {
	all, anyOf, none []string
}

func parseFilter(pattern string) (filter, error) {
	var f filter
	pattern = strings.TrimSpace(pattern)
	if strings.HasPrefix(pattern, "{") || strings.HasPrefix(pattern, "[") || strings.HasPrefix(pattern, "%") {
		return f, fmt.Errorf(
			"filter pattern %q: the local logs know terms, \"phrases\", ?any and -excluded ones, not JSON, space-delimited "+
				"or regular expression patterns", pattern)
	}
	for pattern != "" {
		to := &f.all
		switch pattern[0] {
		case '?':
			to, pattern = &f.anyOf, pattern[1:]
		case '-':
			to, pattern = &f.none, pattern[1:]
		}
		var term string
		if strings.HasPrefix(pattern, `"`) {
			quoted, rest, closed := strings.Cut(pattern[1:], `"`)
			if !closed {
				return f, fmt.Errorf("filter pattern: the quotation mark before %q is not closed", quoted)
			}
			term, pattern = quoted, rest
		} else {
			term, pattern, _ = strings.Cut(pattern, " ")
		}
		if term != "" {
			*to = append(*to, term)
		}
		pattern = strings.TrimSpace(pattern)
	}
	return f, nil
}

func (f filter) matches(message string) bool {
	for _, term := range f.all {
		if !strings.Contains(message, term) {
			return false
		}
	}
	for _, term := range f.none {
		if strings.Contains(message, term) {
			return false
		}
	}
	for _, term := range f.anyOf {
		if strings.Contains(message, term) {
			return true
		}
	}
	return len(f.anyOf) == 0
}
