package machine

import (
	"slices"
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
		statements = append(statements, current.String())
		current.Reset()
	}
	text := strings.ReplaceAll(script, "\r\n", "\n")
	quote, documentEnd, before := byte(0), "", byte(0)
	for n := 0; n < len(text); n++ {
		c := text[n]
		switch {
		case c == l.escape && quote != '\'' && n+1 < len(text):
			n++
			current.WriteString(l.escaped(text[n-1 : n+1]))
		case quote != 0:
			if c == quote {
				quote = 0
			}
			current.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
			current.WriteByte(c)
		case c == '#' && l.comment(before):
			n += lineLength(text[n+1:])
		case c == '\n':
			end()
			if documentEnd != "" {
				n = skipDocument(text, n, documentEnd)
				documentEnd = ""
			}
		case strings.IndexByte(l.ends, c) >= 0:
			end()
		default:
			if word, begins := l.beginsDocument(text[n:]); begins {
				documentEnd = word
			}
			current.WriteByte(c)
		}
		before = text[n]
	}
	end()
	return slices.DeleteFunc(statements, func(text string) bool { return strings.TrimSpace(text) == "" })
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

// escaped is an escape with its character; at a line's end it joins the next line.
func (l scriptLanguage) escaped(pair string) string {
	if pair[1] == '\n' {
		return l.continued
	}
	return pair
}

// beginsDocument returns the word that ends the here-document that a text begins.
func (l scriptLanguage) beginsDocument(text string) (end string, begins bool) {
	if l.document == nil {
		return "", false
	}
	return l.document(text)
}

// lineLength is the number of bytes before the line's end.
func lineLength(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

// words splits a statement and replaces variables. Its error names a construct that only running
// the script can evaluate; the words before it are returned too.
func (l scriptLanguage) words(statement string, variables map[string]string) ([]string, error) {
	s := &splitter{language: l, statement: statement, variables: variables}
	for ; s.at < len(statement); s.at++ {
		if err := s.step(statement[s.at]); err != nil {
			return append(s.words, s.word.String()), err
		}
	}
	if s.quote != 0 {
		return s.words, l.open(s.quote)
	}
	s.endWord()
	return s.words, nil
}

// splitter splits one statement into words.
type splitter struct {
	language  scriptLanguage
	statement string
	variables map[string]string
	at        int // in the statement
	words     []string
	word      strings.Builder
	inWord    bool // which may be empty, in quotes
	quote     byte // around the place; 0 for none
}

// step takes the character at the current place. It may move the place to the last one of several
// that belong together.
func (s *splitter) step(c byte) error {
	next := s.at + 1
	switch {
	case s.quote != 0 && c == s.quote:
		if s.language.doubled && next < len(s.statement) && s.statement[next] == s.quote {
			s.word.WriteByte(c)
			s.at++
			return nil
		}
		s.quote = 0
		return nil
	case s.quote == '\'':
		s.word.WriteByte(c)
		return nil
	case c == s.language.escape && next < len(s.statement):
		s.at++
		if s.language.escapeKept(s.quote, s.statement[next]) {
			s.word.WriteByte(c)
		}
		s.word.WriteByte(s.statement[next])
		s.inWord = true
		return nil
	}
	if err := s.language.unknowable(s.statement[s.at:], s.statement); err != nil {
		return err
	}
	return s.plain(c)
}

// plain takes a character that is neither escaped nor within single quotes.
func (s *splitter) plain(c byte) error {
	switch {
	case c == '$':
		value, length, err := s.language.variable(s.statement[s.at+1:], s.variables)
		if err != nil {
			return err
		}
		s.word.WriteString(value)
		s.at += length
		s.inWord = true
	case s.quote != 0:
		s.word.WriteByte(c)
	case c == '\'' || c == '"':
		s.quote, s.inWord = c, true
	case c == ' ' || c == '\t' || c == '\n':
		s.endWord()
	default:
		s.word.WriteByte(c)
		s.inWord = true
	}
	return nil
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
	}
	s.inWord = false
}
