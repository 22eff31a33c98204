package main

import (
	"fmt"
	"os"
	"os/exec"
)

// settings returns the variables of every build. A value of the caller could change the bytes.
func settings() []string {
	return []string{"CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=-trimpath", "GOWORK=off"}
}

// execute runs the go command with variables beside the caller's and those of every build.
func execute(variables []string, arguments ...string) error {
	command := exec.Command("go", arguments...)
	command.Env, command.Stderr = append(append(os.Environ(), settings()...), variables...), os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("go %v: %w", arguments, err)
	}
	return nil
}

// output runs a program and returns what it prints.
func output(name string, arguments ...string) ([]byte, error) {
	command := exec.Command(name, arguments...)
	command.Env, command.Stderr = append(os.Environ(), settings()...), os.Stderr
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w", name, arguments, err)
	}
	return text, nil
}
