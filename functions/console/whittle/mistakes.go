package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/nearest"
)

// otherWords are what people call a command elsewhere, mostly in kubectl, and what they type here.
var otherWords = map[string]string{
	"get": "status", "list": "status", "ls": "status", "top": "status", "nodes": "status", "pods": "status",
	"show": "status", "watch": "status -watch", "describe": "explain", "why": "explain", "logs": "events",
	"log": "events", "history": "events", "simulate": "plan", "apply": "plan", "diff": "plan -diff",
	"bill": "cost", "costs": "cost", "price": "plan", "consolidate": "plan -consolidate", "deploy": "install",
	"upgrade": "install",
	"migrate": "convert", "doctor": "check", "preflight": "check", "validate": "plan -strict", "lint": "plan -strict",
}

// otherFlags are what people call a flag elsewhere.
var otherFlags = map[string]string{
	"file": "f", "filename": "f", "w": "watch", "wide": "o wide", "json": "o json", "yaml": "o yaml",
	"format": "o", "all": "A", "all-namespaces": "A", "tail": "since", "types": "instance-types", "ns": "n",
	"label": "l", "labels": "l", "timeout": "request-timeout", "name": "cluster", "cluster-name": "cluster",
	"dollars": "max-price", "budget": "max-price", "deployed-version": "deployed",
}

// find returns the command of a name. The error suggests one.
func find(name string) (command, error) {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, nil
		}
		names = append(names, c.name)
	}
	if strings.HasPrefix(name, "-") {
		return command{}, fmt.Errorf("%q stands before a command: flags follow it, as in whittle plan -f FILE", name)
	}
	if other := otherWords[strings.ToLower(name)]; other != "" {
		return command{}, fmt.Errorf("there is no command %q: use `whittle %s`", name, other)
	}
	return command{}, fmt.Errorf("there is no command %q%s", name, suggestion(name, names))
}

// suggestion is a question after the nearest of the names. If none is near, it says where all are.
func suggestion(given string, names []string) string {
	if text := meant(given, names); text != "" {
		return text
	}
	return ": `whittle help` lists all"
}

// meant is a question after the nearest of the words; empty if none is near.
func meant(given string, words []string) string {
	if best := nearest.Fold(given, words); best != "" {
		return fmt.Sprintf(": did you mean %q?", best)
	}
	return ""
}

// parse reads flags of a command. Help has the examples first. A wrong flag is one line that suggests
// another.
func parse(flags *flag.FlagSet, arguments []string, problems io.Writer) error {
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	if len(arguments) == 1 && arguments[0] == askForFlags {
		return &flagsWanted{flags}
	}
	err := flags.Parse(arguments)
	if err == nil {
		return nil
	}
	name := strings.TrimPrefix(flags.Name(), "whittle ")
	if errors.Is(err, flag.ErrHelp) {
		writeHelp(flags, name, problems)
		return err
	}
	return usageProblem(problems, "whittle %s: %s", name, mistake(flags, name, err.Error()))
}

// mistake is the text of package flag about a wrong flag, with what is right.
func mistake(flags *flag.FlagSet, command, text string) string {
	if wrong, undefined := strings.CutPrefix(text, "flag provided but not defined: -"); undefined {
		return fmt.Sprintf("there is no flag -%s%s", wrong, flagMeant(flags, command, wrong))
	}
	if wrong, open := strings.CutPrefix(text, "flag needs an argument: -"); open {
		value, usage := flag.UnquoteUsage(flags.Lookup(wrong))
		return fmt.Sprintf("%s: write -%s %s: %s", text, wrong, strings.ToUpper(value), usage)
	}
	if rest, unparsed := strings.CutSuffix(text, ": parse error"); unparsed {
		if strings.HasPrefix(text, "invalid boolean") {
			return rest + ": write the flag alone, or with =true or =false"
		}
		return rest + ": write a time such as 90s, 10m or 2h"
	}
	return text
}

// flagMeant names the flag that somebody meant, or where all are listed.
func flagMeant(flags *flag.FlagSet, command, wrong string) string {
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if other := otherFlags[strings.ToLower(wrong)]; other != "" {
		word, value, _ := strings.Cut(other, " ")
		if known := flags.Lookup(word); known != nil && (value == "" || known.Value.Set(value) == nil) {
			return fmt.Sprintf(": did you mean -%s?", other)
		}
	}
	var with []string
	for _, c := range commands() {
		if flagsOf(c).Lookup(wrong) != nil {
			with = append(with, c.name)
		}
	}
	near := meant(wrong, names)
	switch {
	case near == "" && len(with) > 0:
		return fmt.Sprintf(": it is one of `whittle %s`, and `whittle help %s` lists those of %s",
			strings.Join(with, "`, `whittle "), command, command)
	case near == "":
		return ": `whittle help " + command + "` lists all"
	}
	return near
}

// otherTypes are types of kubectl that explain does not know, with their short names.
var otherTypes = []string{
	"service", "svc", "configmap", "cm", "secret", "ingress", "ing", "namespace", "ns", "cronjob", "cj",
	"persistentvolumeclaim", "pvc", "persistentvolume", "pv", "poddisruptionbudget", "pdb", "horizontalpodautoscaler",
	"hpa", "endpoints", "ep", "event", "ev", "storageclass", "sc", "serviceaccount", "sa", "nodeclass", "ec2nodeclass",
	"nodeoverlay", "provisioner", "rollout", "podgroup", "capacitybuffer", "provisioningrequest", "crd", "lease",
}

// isOtherType reports whether a word is a type that explain does not know.
func isOtherType(word string) bool {
	word = strings.ToLower(word)
	word, _, _ = strings.Cut(word, ".") // a type with its group
	return slices.Contains(otherTypes, word) || slices.Contains(otherTypes, strings.TrimSuffix(word, "s"))
}

// typeMeant says that explain does not know a type, and which ones it knows.
func typeMeant(word string) string {
	if near := nearType(word); near != "" && !isOtherType(word) {
		return fmt.Sprintf("there is no type %q: did you mean %q?", word, near)
	}
	return fmt.Sprintf("there is no type %q to explain: %s", word, explainUsage())
}

// nearType is the type that a word most likely means; empty for none. Short names are near to too many words.
func nearType(word string) string {
	return nearest.Fold(strings.TrimSuffix(strings.ToLower(word), "s"), explainedTypes())
}
