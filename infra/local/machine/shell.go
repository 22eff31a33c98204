package machine

import (
	"errors"
	"fmt"
	"strings"
)

// shellCall looks through a shell script, without running it, for the first command whose name is wanted, and gives the command's arguments. It knows
// quotes, continued lines, comments, here-documents and plain assignments, which is what scripts of user data are made of; what only a shell can know
// is an error if the wanted command needs it.
func shellCall(script string, wanted func(name string) bool) (arguments []string, called bool, err error) {
	variables := map[string]string{}
	for _, statement := range shellStatements(script) {
		words, err := expandWords(statement, variables)
		words = skipPrefixes(words, variables)
		if len(words) == 0 {
			continue
		}
		if wanted(words[0]) {
			return words[1:], true, err
		}
	}
	return nil, false, nil
}

// skipPrefixes takes off what may stand before a command: assignments, which it remembers, and words such as sudo.
func skipPrefixes(words []string, variables map[string]string) []string {
	for len(words) > 0 {
		name, value, assigned := strings.Cut(words[0], "=")
		switch {
		case assigned && isVariable(name):
			variables[name] = value
		case words[0] == "export", words[0] == "readonly", words[0] == "local", words[0] == "sudo", words[0] == "exec", words[0] == "bash", words[0] == "sh",
			words[0] == "then", words[0] == "do", words[0] == "else":
		default:
			return words
		}
		words = words[1:]
	}
	return nil
}

func isVariable(name string) bool {
	for n, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (n == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// shellStatements cuts a script into statements, without comments and here-documents and with continued lines joined.
func shellStatements(script string) []string {
	var statements []string
	var current strings.Builder
	end := func() {
		if strings.TrimSpace(current.String()) != "" {
			statements = append(statements, current.String())
		}
		current.Reset()
	}
	text := strings.ReplaceAll(script, "\r\n", "\n")
	quote, ends := byte(0), ""
	for n := 0; n < len(text); n++ {
		c := text[n]
		switch {
		case c == '\\' && quote != '\'' && n+1 < len(text):
			if n++; text[n] != '\n' {
				current.WriteByte('\\')
				current.WriteByte(text[n])
			}
		case quote != 0:
			if c == quote {
				quote = 0
			}
			current.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
			current.WriteByte(c)
		case c == '#' && (n == 0 || strings.IndexByte(" \t\n;", text[n-1]) >= 0):
			for n+1 < len(text) && text[n+1] != '\n' {
				n++
			}
		case c == '<' && strings.HasPrefix(text[n:], "<<") && !strings.HasPrefix(text[n:], "<<<"):
			ends = hereDocumentEnd(text[n+2:])
			current.WriteByte(c)
		case c == '\n':
			end()
			if ends != "" {
				n = skipHereDocument(text, n, ends)
				ends = ""
			}
		case c == ';' || c == '&' || c == '|':
			end()
		default:
			current.WriteByte(c)
		}
	}
	end()
	return statements
}

// hereDocumentEnd is the word that ends a here-document.
func hereDocumentEnd(text string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(text, "- \t"), "\n")
	word, _, _ = strings.Cut(strings.TrimSpace(word), " ")
	return strings.Trim(word, `'"`)
}

// skipHereDocument gives the place of the newline that ends the document which begins after the newline at from.
func skipHereDocument(text string, from int, ends string) int {
	for at := from + 1; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		at += len(line) + 1
		if strings.TrimSpace(line) == ends {
			return at - 1
		}
	}
	return len(text)
}

// expandWords splits a statement into words with variables in place. Its error tells of what cannot be known without a shell; the words are there all
// the same.
func expandWords(statement string, variables map[string]string) ([]string, error) {
	var words []string
	var problem error
	var word strings.Builder
	inWord, quote := false, byte(0)
	for n := 0; n < len(statement); n++ {
		c := statement[n]
		switch {
		case quote == '\'':
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '\\' && n+1 < len(statement):
			n++
			if quote == '"' && strings.IndexByte("\"\\$`", statement[n]) < 0 {
				word.WriteByte('\\')
			}
			word.WriteByte(statement[n])
			inWord = true
		case c == '`' || strings.HasPrefix(statement[n:], "$("):
			problem = fmt.Errorf("%q has a command substitution, which only a shell can run", strings.TrimSpace(statement))
			return append(words, word.String()), problem
		case c == '$':
			value, length := expandVariable(statement[n+1:], variables)
			word.WriteString(value)
			n += length
			inWord = true
		case quote == '"':
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
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
		return words, fmt.Errorf("unexpected end of file while looking for matching `%c'", quote)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, problem
}

// expandVariable reads what follows a dollar sign and tells how long it is; a variable that was never set is empty.
func expandVariable(text string, variables map[string]string) (value string, length int) {
	if strings.HasPrefix(text, "{") {
		name, _, closed := strings.Cut(text[1:], "}")
		if !closed {
			return "", 0
		}
		name, otherwise, _ := strings.Cut(name, ":-")
		if value = variables[name]; value == "" {
			value = otherwise
		}
		length := strings.IndexByte(text, '}') + 1
		return value, length
	}
	for length < len(text) && isVariable(text[:length+1]) {
		length++
	}
	return variables[text[:length]], length
}

// shellWords splits arguments as systemd does those of a service: at spaces, with quotes kept together and taken off.
func shellWords(text string) ([]string, error) {
	words, err := expandWords(strings.ReplaceAll(text, "$", `\$`), nil)
	if err != nil {
		return nil, errors.New("quotes do not match: " + text)
	}
	return words, nil
}
