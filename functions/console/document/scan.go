package document

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Fields goes through the fields of a JSON object, in their order; values are parts of
// the text, not copies. The text must be valid JSON, as that of a Document is. It is for
// files of hundreds of thousands of objects, of which a decoder would go through the
// whole text for each question.
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

// Entries goes through the entries of a JSON list as Fields does through an object.
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

// Text is what a JSON string says; false if the value is none.
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

// after is where the next thing begins after a mark and what is blank around it; the
// mark may be missing.
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

// stringEnd is where the string that begins at a quote ends, after its last quote.
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
