package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
)

// The release of Karpenter's AWS provider whose tables are read, and its go.sum line. Its packages
// are read as source instead of being imported: they would bring the whole controller into this
// small program.
const (
	karpenterModule = "github.com/aws/karpenter-provider-aws@v1.14.1"
	karpenterSum    = "h1:WGtIQTQcxpElYMdWfWuPwaF2+9muR+hYhPZsTtoY8Gs="
)

// downloadKarpenter returns the directory of the pinned module, checked by the go command.
func downloadKarpenter(ctx context.Context) (string, error) {
	var stdout, stderr bytes.Buffer
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", karpenterModule)
	download.Stdout, download.Stderr = &stdout, &stderr
	if err := download.Run(); err != nil {
		return "", fmt.Errorf("downloading module %s: %w: %s%s", karpenterModule, err, stdout.Bytes(), stderr.Bytes())
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(stdout.Bytes(), &module); err != nil {
		return "", fmt.Errorf("reading what go mod download says of %s: %w", karpenterModule, err)
	}
	if module.Sum != karpenterSum {
		return "", fmt.Errorf("module %s has sum %s, want %s", karpenterModule, module.Sum, karpenterSum)
	}
	return module.Dir, nil
}

// onDemandPrices returns a region's prices an hour, by type, from the variable in a file.
func onDemandPrices(path, variable, region string) (map[string]float64, error) {
	regions, err := mapVariable(path, variable)
	if err != nil {
		return nil, err
	}
	for _, element := range regions.Elts {
		key, value, err := entry(element)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", variable, err)
		}
		if key != region {
			continue
		}
		prices, ok := value.(*ast.CompositeLit)
		if !ok {
			return nil, fmt.Errorf("reading %s: the value of %q is not a map", variable, key)
		}
		return numbers(variable, prices)
	}
	return nil, fmt.Errorf("reading %s: it has no %s", variable, region)
}

// networkBandwidths returns the documented baseline bandwidths in Mbps, by type.
func networkBandwidths(module string) (map[string]float64, error) {
	const variable = "InstanceTypeBandwidthMegabits"
	bandwidths, err := mapVariable(filepath.Join(module, "pkg/providers/instancetype/zz_generated.bandwidth.go"), variable)
	if err != nil {
		return nil, err
	}
	return numbers(variable, bandwidths)
}

// mapVariable finds the composite literal that a file gives to a package variable.
func mapVariable(path, variable string) (*ast.CompositeLit, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", variable, err)
	}
	for _, declaration := range file.Decls {
		variables, ok := declaration.(*ast.GenDecl)
		if !ok || variables.Tok != token.VAR {
			continue
		}
		for _, specification := range variables.Specs {
			spec := specification.(*ast.ValueSpec) // the only kind a var declaration holds
			for i, name := range spec.Names {
				if name.Name != variable || i >= len(spec.Values) {
					continue
				}
				if literal, ok := spec.Values[i].(*ast.CompositeLit); ok {
					return literal, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("reading %s: %s has no such variable with a literal", variable, path)
}

// numbers reads a map literal from texts to numbers.
func numbers(variable string, literal *ast.CompositeLit) (map[string]float64, error) {
	all := make(map[string]float64, len(literal.Elts))
	for _, element := range literal.Elts {
		key, value, err := entry(element)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", variable, err)
		}
		number, ok := value.(*ast.BasicLit)
		if !ok || (number.Kind != token.INT && number.Kind != token.FLOAT) {
			return nil, fmt.Errorf("reading %s: the value of %q is not a number", variable, key)
		}
		if all[key], err = strconv.ParseFloat(number.Value, 64); err != nil {
			return nil, fmt.Errorf("reading %s: the value of %q: %w", variable, key, err)
		}
	}
	return all, nil
}

// entry takes one entry of a map literal apart.
func entry(element ast.Expr) (key string, value ast.Expr, err error) {
	pair, ok := element.(*ast.KeyValueExpr)
	if !ok {
		return "", nil, fmt.Errorf("an entry has no key")
	}
	text, ok := pair.Key.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", nil, fmt.Errorf("a key is not a literal text")
	}
	key, err = strconv.Unquote(text.Value)
	return key, pair.Value, err
}
