package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// completion prints a script that completes commands and flags. The shell asks nobody: the script has
// all words.
func completion(arguments []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle completion", flag.ContinueOnError)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	scripts := map[string]func() string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	if len(arguments) != 1 || scripts[arguments[0]] == nil {
		fmt.Fprintf(problems, "whittle completion: name the shell, bash, zsh or fish: got %q\n", arguments)
		return errUsage
	}
	_, err := io.WriteString(out, scripts[arguments[0]]())
	return err
}

// flagNames are the flags of a command, as its help lists them.
func flagNames(c command) []string {
	var help strings.Builder
	// Help ends every command before it does anything.
	_ = c.run(context.Background(), []string{"-h"}, strings.NewReader(""), io.Discard, &help)
	var names []string
	for line := range strings.Lines(help.String()) {
		if name, is := strings.CutPrefix(line, "  -"); is {
			names = append(names, "-"+strings.Fields(name)[0])
		}
	}
	return names
}

// words are what may follow a command.
func words(c command) []string {
	switch c.name {
	case "completion":
		return []string{"bash", "zsh", "fish"}
	case "explain":
		return slices.Insert(flagNames(c), 0, "pod")
	}
	return flagNames(c)
}

func names() []string {
	all := []string{"help"}
	for _, c := range commands() {
		all = append(all, c.name)
	}
	return all
}

func bashScript() string {
	var text strings.Builder
	text.WriteString("_whittle() {\n  local words=\"" + strings.Join(names(), " ") + "\"\n")
	text.WriteString("  if [ \"$COMP_CWORD\" -gt 1 ]; then\n    case \"${COMP_WORDS[1]}\" in\n")
	for _, c := range commands() {
		if words := words(c); len(words) > 0 {
			fmt.Fprintf(&text, "      %s) words=\"%s\" ;;\n", c.name, strings.Join(words, " "))
		}
	}
	text.WriteString("      help) ;;\n      *) words=\"\" ;;\n    esac\n  fi\n")
	text.WriteString("  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n")
	text.WriteString("complete -o default -F _whittle whittle kubectl-whittle\n")
	return text.String()
}

func zshScript() string {
	return "#compdef whittle\nautoload -U +X bashcompinit && bashcompinit\n" + bashScript()
}

func fishScript() string {
	var text strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&text, "complete -c whittle -n __fish_use_subcommand -a %s -d '%s'\n", c.name,
			strings.ReplaceAll(c.meaning, "'", `\'`))
		for _, word := range words(c) {
			option, is := strings.CutPrefix(word, "-")
			switch {
			case !is:
				fmt.Fprintf(&text, "complete -c whittle -n '__fish_seen_subcommand_from %s' -a %s\n", c.name, word)
			default:
				fmt.Fprintf(&text, "complete -c whittle -n '__fish_seen_subcommand_from %s' -o %s\n", c.name, option)
			}
		}
	}
	return text.String()
}
