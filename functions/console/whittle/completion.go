package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed completion/bash.sh
var bashScript string

//go:embed completion/zsh.zsh
var zshScript string

//go:embed completion/fish.fish
var fishScript string

//go:embed completion/kubectl.sh
var kubectlScript string

// completionScripts are the scripts by the word that asks for them. Each runs the hidden command.
var completionScripts = map[string]string{
	"bash": bashScript, "zsh": zshScript, "fish": fishScript, "kubectl": kubectlScript,
}

// shells are the words that completion takes.
func shells() []string { return []string{"bash", "zsh", "fish", "kubectl"} }

// completion prints a script that completes commands, flags, their values, and names in the cluster.
func completion(arguments []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle completion", flag.ContinueOnError)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if len(arguments) != 1 || completionScripts[arguments[0]] == "" {
		return usageProblem(problems, "whittle completion: name the shell, bash, zsh or fish, or kubectl: got %q%s",
			arguments, meant(strings.Join(arguments, " "), shells()))
	}
	_, err := io.WriteString(out, completionScripts[arguments[0]])
	return err
}

// The hidden command that the scripts run with the words after the program's name. The last word is the
// one to complete, and may be empty.
const completeCommand = "__complete"

// What the shell does with the candidates, in the numbers of cobra. kubectl reads them too.
// https://github.com/spf13/cobra/blob/main/site/content/completions/_index.md
const (
	orFiles     = 0
	withoutRoom = 2 // no space after the candidate
	noFiles     = 4
)

// candidates are words that may stand at a place. A word may have a tab and its meaning.
type candidates struct {
	words     []string
	directive int
}

// complete prints candidates for the last word, one a line, and a line with the directive. What cannot be
// found out leaves candidates out, without a word: a person types on.
func complete(ctx context.Context, words []string, out io.Writer) error {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	found := candidatesFor(ctx, words[:len(words)-1], last)
	if _, value, isValue := strings.Cut(last, "="); isValue && strings.HasPrefix(last, "-") {
		last = value
	}
	var text strings.Builder
	for _, word := range found.words {
		if strings.HasPrefix(word, last) {
			text.WriteString(word + "\n")
		}
	}
	_, err := fmt.Fprintf(out, "%s:%d\n", text.String(), found.directive)
	return err
}

func candidatesFor(ctx context.Context, before []string, last string) candidates {
	if len(before) == 0 {
		return commandWords()
	}
	if before[0] == "help" {
		if len(before) > 1 {
			return candidates{directive: noFiles}
		}
		return commandWords()
	}
	c, err := find(before[0])
	if err != nil {
		return candidates{directive: noFiles}
	}
	typed := readTyped(flagsOf(c), before[1:])
	name, _, isValue := strings.Cut(strings.TrimLeft(last, "-"), "=")
	switch isFlag := strings.HasPrefix(last, "-"); {
	case typed.open != "":
		return typed.values(ctx, typed.open)
	case isFlag && isValue:
		return typed.values(ctx, name)
	case isFlag:
		return flagWords(typed.flags, strings.HasPrefix(last, "--"))
	}
	return typed.arguments(ctx, c.name, last)
}

func commandWords() candidates {
	words := []string{"help\tshows a command's examples and flags"}
	for _, c := range commands() {
		words = append(words, c.name+"\t"+c.meaning)
	}
	return candidates{words, noFiles}
}

// flagWords are the flags of a command. Go takes one dash or two.
func flagWords(flags *flag.FlagSet, two bool) candidates {
	found := candidates{directive: noFiles}
	flags.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		word := "-" + f.Name
		if two && len(f.Name) > 1 {
			word = "-" + word
		}
		found.words = append(found.words, word+"\t"+usage)
	})
	return found
}

// askForFlags is an argument with which parse returns the flags, and reads none. Nobody can type it.
const askForFlags = "\x00flags"

// flagsWanted is parse's answer to it.
type flagsWanted struct{ flags *flag.FlagSet }

func (*flagsWanted) Error() string { return "flags" }

// flagsOf are the flags of a command.
func flagsOf(c command) *flag.FlagSet {
	var wanted *flagsWanted
	// Parsing its arguments is what a command does first.
	if err := c.run(context.Background(), []string{askForFlags}, strings.NewReader(""), io.Discard, io.Discard); errors.As(
		err, &wanted,
	) {
		return wanted.flags
	}
	return flag.NewFlagSet("", flag.ContinueOnError)
}

// typed is what stands before the word to complete.
type typed struct {
	flags *flag.FlagSet
	// set are the values of flags, and words the other arguments.
	set   map[string][]string
	words []string
	// open is the flag whose value is to be completed; empty for none.
	open string
}

func readTyped(flags *flag.FlagSet, words []string) *typed {
	t := &typed{flags: flags, set: map[string][]string{}}
	for _, word := range words {
		dashed := strings.HasPrefix(word, "-") && word != "-"
		switch name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "="); {
		case t.open != "":
			t.set[t.open], t.open = append(t.set[t.open], word), ""
		case !dashed:
			t.words = append(t.words, word)
		case hasValue:
			t.set[name] = append(t.set[name], value)
		case t.takesValue(name):
			t.open = name
		}
	}
	return t
}

// takesValue reports whether a flag has a value after it.
func (t *typed) takesValue(name string) bool {
	known := t.flags.Lookup(name)
	if known == nil {
		return false
	}
	boolean, ok := known.Value.(interface{ IsBoolFlag() bool })
	return !ok || !boolean.IsBoolFlag()
}

// last is the last value of any of the flags; empty for none.
func (t *typed) last(names ...string) string {
	for _, name := range names {
		if values := t.set[name]; len(values) > 0 {
			return values[len(values)-1]
		}
	}
	return ""
}

// fileFlags are the flags whose values are files or folders.
func fileFlags() []string { return []string{"f", "diff", "instance-types", "kubeconfig", "release"} }

// values are the values of a flag.
func (t *typed) values(ctx context.Context, name string) candidates {
	known := t.flags.Lookup(name)
	if known == nil {
		return candidates{directive: noFiles}
	}
	if of, ok := known.Value.(choice); ok {
		return of.candidates()
	}
	switch {
	case name == "context":
		return candidates{t.contexts(), noFiles}
	case slices.Contains([]string{"n", "namespace"}, name):
		return candidates{t.names(ctx, "/api/v1/namespaces"), noFiles}
	case slices.Contains(fileFlags(), name):
		return candidates{directive: orFiles}
	}
	return candidates{directive: noFiles}
}

// candidates are the values. One whose rest a person has to write ends with = and without a space.
func (c choice) candidates() candidates {
	found := candidates{directive: noFiles}
	for _, value := range c.values {
		form, _, open := strings.Cut(value, "=")
		if open {
			form, found.directive = form+"=", noFiles|withoutRoom
		}
		found.words = append(found.words, form)
	}
	return found
}

// arguments are the arguments of a command that are no flags.
func (t *typed) arguments(ctx context.Context, command, last string) candidates {
	switch {
	case command == "completion" && len(t.words) == 0:
		return candidates{shells(), noFiles}
	case command == "explain" && explainWords(t.words):
		return t.objects(ctx, last)
	case len(t.set["f"]) > 0: // -f *.yaml
		return candidates{directive: orFiles}
	}
	return candidates{directive: noFiles}
}
