package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/simulate"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/planted"
)

const (
	// simulatePlanted is the variable that names a planted fault to find, or all of them.
	simulatePlanted = "SIMULATE_PLANTED"
	allPlanted      = "all"
	// plantedSeeds is how many seeds may be needed for each fault, and plantedStep how many are tried
	// before the results are read.
	plantedSeeds, plantedStep = 2000, 40
)

// findPlanted plants each of the named faults in turn, and simulates seeds until one finds it.
func findPlanted(ctx context.Context, root, folder, name string, seeds int) error {
	var missed []string
	rows := []string{"fault\tfound by seed\tviolation"}
	for _, fault := range planted.Faults() {
		if name != allPlanted && name != fault.Name {
			continue
		}
		program, err := buildSimulation(ctx, root, folder, "planted", fault.Replacements...)
		if err != nil {
			return fmt.Errorf("planting %s: %w", fault.Name, err)
		}
		found, err := firstViolation(ctx, program, folder, fault.Law, seeds)
		switch {
		case err != nil:
			return fmt.Errorf("with %s: %w", fault.Name, err)
		case found == nil:
			missed = append(missed, fault.Name)
			rows = append(rows, fmt.Sprintf("%s\tnone of %d\t", fault.Name, seeds))
		default:
			rows = append(rows, fmt.Sprintf("%s\t%d\t%.160s", fault.Name, found.Seed, found.Violations[0]))
		}
		fmt.Println(rows[len(rows)-1])
	}
	if len(rows) == 1 {
		return fmt.Errorf("environment variable %s is %q: no planted fault has that name; %s plants each", simulatePlanted,
			name, allPlanted)
	}
	if err := scenario.WriteTable(os.Stdout, rows); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("planted faults that no seed has found: %v", missed)
	}
	return nil
}

// firstViolation is the result of the first seed that breaks the law, or nil.
func firstViolation(ctx context.Context, program, folder, law string, seeds int) (*simulate.Result, error) {
	for first := 1; first <= seeds; first += plantedStep {
		results, err := simulateSeedsWith(ctx, program, folder, first, min(plantedStep, seeds-first+1), 0)
		if err != nil {
			return nil, err
		}
		violating := slices.DeleteFunc(results, func(r simulate.Result) bool {
			return !strings.Contains(strings.Join(r.Violations, "; "), law+": ")
		})
		if len(violating) > 0 {
			least := slices.MinFunc(violating, func(a, b simulate.Result) int { return int(a.Seed) - int(b.Seed) })
			return &least, nil
		}
	}
	return nil, nil
}
