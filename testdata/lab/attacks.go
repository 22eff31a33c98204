package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/attacks"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/overlay"
)

// attacksPlanted is the variable that lets attacks through: one by its test, or all of them.
const attacksPlanted = "ATTACKS_PLANTED"

// tryAttacks runs the test of each attack. With planted faults, each test has to fail.
func tryAttacks(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if name := os.Getenv(attacksPlanted); name != "" {
		return letThrough(ctx, root, name)
	}
	tests := map[string][]string{}
	for _, attack := range attacks.All() {
		if !slices.Contains(tests[attack.Package], attack.Test) {
			tests[attack.Package] = append(tests[attack.Package], attack.Test)
		}
	}
	for _, attack := range attacks.All() {
		names := tests[attack.Package]
		if len(names) == 0 {
			continue
		}
		delete(tests, attack.Package)
		answer, err := testOf(ctx, root, attack.Package, strings.Join(names, "|"))
		if err != nil {
			return fmt.Errorf("the tests %s of %s fail: %w\n%s", strings.Join(names, " "), attack.Package, err, answer)
		}
		if strings.Contains(answer, "no tests to run") {
			return fmt.Errorf("%s has no test %s", attack.Package, strings.Join(names, " "))
		}
	}
	fmt.Printf("%d attacks meet their bounds\n", len(attacks.All()))
	return nil
}

// letThrough plants the faults of the attacks in turn.
func letThrough(ctx context.Context, root, name string) error {
	folder, _, err := builtDirectory("attacks")
	if err != nil {
		return err
	}
	var missed []string
	tried := 0
	for _, attack := range attacks.All() {
		if name != allPlanted && name != attack.Test {
			continue
		}
		tried++
		list, err := overlay.Plain(root, filepath.Join(folder, fmt.Sprint(tried)), attack.Fault...)
		if err != nil {
			return fmt.Errorf("a node that %s: %w", attack.Tries, err)
		}
		answer, err := testOf(ctx, root, attack.Package, attack.Test, "-overlay", list)
		switch {
		case err == nil:
			missed = append(missed, attack.Test+": "+attack.Tries)
		case !strings.Contains(answer, "--- FAIL: "+attack.Test):
			return fmt.Errorf("with the planted fault, %s does not run: %s", attack.Test, answer)
		default:
			fmt.Printf("seen: %s %s\n", attack.Actor, attack.Tries)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("the suite does not see these attacks: %s", strings.Join(missed, "; "))
	}
	if tried == 0 {
		return fmt.Errorf("environment variable %s is %q: no attack has that test; %s lets each through",
			attacksPlanted, name, allPlanted)
	}
	return nil
}

// testOf runs tests of a package, whose names have no other test's as a beginning.
func testOf(ctx context.Context, root, of, tests string, flags ...string) (string, error) {
	arguments := slices.Concat([]string{"test", "-count=1", "-vet=off", "-run", "^(" + tests + ")$"}, flags, []string{of})
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = root
	answer, err := command.CombinedOutput()
	return string(answer), err
}
