package document

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Fields iterates over the fields of a JSON object in their order. Values are slices of text, not
// copies. The text must be valid JSON, like that of a Document. A decoder would read all of a file
// with 100,000 objects for each question.
func Fields(text []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		at := after(text, 0, '{')
		for at < len(text) && text[at] == '"' {
			end := stringEnd(text, at)
			key, _ := Text(text[at:end])
			begin := after(text, end, ':')
			end = valueEnd(text, begin)
			if !yield(key, text[begin:end]) {
				return
			}
			at = after(text, end, ',')
		}
	}
}

// Entries iterates over the entries of a JSON list, like Fields.
func Entries(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		at := after(text, 0, '[')
		for i := 0; at < len(text) && text[at] != ']'; i++ {
			end := valueEnd(text, at)
			if end == at || !yield(i, text[at:end]) {
				return
			}
			at = after(text, end, ',')
		}
	}
}

// Text returns a JSON string's text; false if the value is no string.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : len(value)-1]), true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// IsList reports whether the text is a JSON list.
func IsList(text []byte) bool {
	at := blanks(text, 0)
	return at < len(text) && text[at] == '['
}

// after returns where the next token begins after a mark and white space. The mark may be missing.
func after(text []byte, at int, mark byte) int {
	if at = blanks(text, at); at < len(text) && text[at] == mark {
		at = blanks(text, at+1)
	}
	return at
}

func blanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// stringEnd returns the offset after the string that begins at the quote.
func stringEnd(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

func valueEnd(text []byte, at int) int {
	depth := 0
	for at < len(text) {
		switch text[at] {
		case '"':
			if at = stringEnd(text, at); depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
			if depth < 0 {
				return at
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return len(text)
}
