package machine

import (
	"strings"
)

// scriptLanguage splits a script into statements and words. The methods do what shells and
// PowerShell have in common; the fields describe their differences. Nothing is run.
type scriptLanguage struct {
	// escape removes the special meaning of the next character, except within single quotes.
	// escapeKept reports whether the escape itself remains, given the quote around it (0: none). At
	// a line's end it joins the next line, with continued between the two.
	escape     byte
	escapeKept func(quote, next byte) bool
	continued  string
	// ends are the characters that end a statement beside a line's end.
	ends string
	// comment reports whether a # begins a comment, given the character before it, 0 at the
	// beginning.
	comment func(before byte) bool
	// document returns the word that ends the here-document that a text begins. It is nil for a
	// language without them.
	document func(text string) (end string, begins bool)
	// doubled is set if a doubled quote within quotes of its own kind stands for one.
	doubled bool
	// unknowable returns an error for a construct that only the language itself can evaluate, nil
	// for others.
	unknowable func(text, statement string) error
	// variable reads a variable after a dollar sign, and returns the length of its name.
	variable func(text string, variables map[string]string) (value string, length int, err error)
	// open is the error of a quote that is never closed.
	open func(quote byte) error
}

// statements cuts a script into statements, without comments and here-documents and with continued
// lines joined.
func (l scriptLanguage) statements(script string) []string {
	var statements []string
	var current strings.Builder
	end := func() {
		if strings.TrimSpace(current.String()) != "" {
			statements = append(statements, current.String())
		}
		current.Reset()
	}
	text := strings.ReplaceAll(script, "\r\n", "\n")
	quote, documentEnd, before := byte(0), "", byte(0)
	for n := 0; n < len(text); n++ {
		c := text[n]
		switch {
		case c == l.escape && quote != '\'' && n+1 < len(text):
			if n++; text[n] == '\n' {
				current.WriteString(l.continued)
			} else {
				current.WriteString(text[n-1 : n+1])
			}
		case quote != 0:
			if c == quote {
				quote = 0
			}
			current.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
			current.WriteByte(c)
		case c == '#' && l.comment(before):
			for n+1 < len(text) && text[n+1] != '\n' {
				n++
			}
		case c == '\n':
			end()
			if documentEnd != "" {
				n = skipDocument(text, n, documentEnd)
				documentEnd = ""
			}
		case strings.IndexByte(l.ends, c) >= 0:
			end()
		default:
			if l.document != nil {
				if word, begins := l.document(text[n:]); begins {
					documentEnd = word
				}
			}
			current.WriteByte(c)
		}
		before = text[n]
	}
	end()
	return statements
}

// skipDocument returns the place of the newline that ends the here-document which begins after the
// newline at from.
func skipDocument(text string, from int, end string) int {
	for at := from + 1; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		at += len(line) + 1
		if strings.TrimSpace(line) == end {
			return at - 1
		}
	}
	return len(text) - 1
}

// words splits a statement and replaces variables. Its error names a construct that only running
// the script can evaluate; the words before it are returned too.
func (l scriptLanguage) words(statement string, variables map[string]string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for n := 0; n < len(statement); n++ {
		c := statement[n]
		switch {
		case quote != 0 && c == quote:
			if l.doubled && n+1 < len(statement) && statement[n+1] == quote {
				word.WriteByte(c)
				n++
				continue
			}
			quote = 0
		case quote == '\'':
			word.WriteByte(c)
		case c == l.escape && n+1 < len(statement):
			n++
			if l.escapeKept(quote, statement[n]) {
				word.WriteByte(c)
			}
			word.WriteByte(statement[n])
			inWord = true
		case l.unknowable(statement[n:], statement) != nil:
			return append(words, word.String()), l.unknowable(statement[n:], statement)
		case c == '$':
			value, length, err := l.variable(statement[n+1:], variables)
			if err != nil {
				return append(words, word.String()), err
			}
			word.WriteString(value)
			n += length
			inWord = true
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return words, l.open(quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
