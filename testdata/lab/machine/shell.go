package machine

import (
	"errors"
	"fmt"
	"strings"
)

// shellCall finds the first command with a wanted name in a shell script, without running it, and
// returns its arguments. It knows quotes, continued lines, comments, here-documents and plain
// assignments. Other constructs are an error if the wanted command needs them.
func shellCall(script string, wanted func(name string) bool) (arguments []string, called bool, err error) {
	variables := map[string]string{}
	for _, statement := range shell().statements(script) {
		words, err := shell().words(statement, variables)
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

// skipPrefixes removes what may precede a command: assignments, which it records, and words such as
// sudo.
func skipPrefixes(words []string, variables map[string]string) []string {
	for len(words) > 0 {
		name, value, assigned := strings.Cut(words[0], "=")
		switch {
		case assigned && isVariable(name):
			variables[name] = value
		case words[0] == "export", words[0] == "readonly", words[0] == "local", words[0] == "sudo", words[0] == "exec",
			words[0] == "bash", words[0] == "sh",
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

// shell is the language of POSIX shells.
func shell() scriptLanguage {
	return scriptLanguage{
		escape: '\\', escapeKept: func(quote, next byte) bool {
			return quote == '"' && strings.IndexByte("\"\\$`", next) < 0
		},
		ends: ";&|", comment: func(before byte) bool {
			return before == 0 || strings.IndexByte(" \t\n;", before) >= 0
		}, document: hereDocument,
		unknowable: func(text, statement string) error {
			if text[0] != '`' && !strings.HasPrefix(text, "$(") {
				return nil
			}
			return fmt.Errorf("%q has a command substitution, which only a shell can run", strings.TrimSpace(statement))
		},
		variable: expandVariable,
		open: func(quote byte) error {
			return fmt.Errorf("unexpected end of file while looking for matching `%c'", quote)
		},
	}
}

// hereDocument returns the word that ends a here-document.
func hereDocument(text string) (end string, begins bool) {
	if !strings.HasPrefix(text, "<<") || strings.HasPrefix(text, "<<<") {
		return "", false
	}
	word, _, _ := strings.Cut(strings.TrimLeft(text[2:], "- \t"), "\n")
	word, _, _ = strings.Cut(strings.TrimSpace(word), " ")
	return strings.Trim(word, `'"`), true
}

// expandVariable reads what follows a dollar sign and tells how long it is; a variable that was never set is empty.
func expandVariable(text string, variables map[string]string) (value string, length int, err error) {
	if strings.HasPrefix(text, "{") {
		name, _, closed := strings.Cut(text[1:], "}")
		if !closed {
			return "", 0, nil
		}
		name, otherwise, _ := strings.Cut(name, ":-")
		if value = variables[name]; value == "" {
			value = otherwise
		}
		return value, strings.IndexByte(text, '}') + 1, nil
	}
	for length < len(text) && isVariable(text[:length+1]) {
		length++
	}
	return variables[text[:length]], length, nil
}

// shellWords splits arguments as systemd does those of a service: at spaces, with quotes kept together and taken off.
func shellWords(text string) ([]string, error) {
	words, err := shell().words(strings.ReplaceAll(text, "$", `\$`), nil)
	if err != nil {
		return nil, errors.New("quotes do not match: " + text)
	}
	return words, nil
}
