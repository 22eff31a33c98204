package manifests

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// maximumErrors limits the reported errors. A file that is wrong throughout has one cause.
const maximumErrors = 20

// Manifests holds the objects of some files.
type Manifests struct {
	snapshot.Objects
	// Warnings are one line each, for people: ignored kinds, unknown fields, and values that an API
	// server would refuse.
	Warnings []string
}

// Read reads files. "-" is stdin. A folder stands for its files with names that end in .yaml, .yml
// or .json. Of two equal objects the last counts. The error joins one line for each fault, with
// file, line and field.
func Read(names []string, stdin io.Reader) (*Manifests, error) {
	r := &reader{
		manifests: &Manifests{}, seen: map[string]seen{}, skipped: map[string]*count{}, unknown: map[string]*count{},
	}
	for _, name := range names {
		if err := r.read(name, stdin); err != nil {
			return nil, err
		}
	}
	if len(r.errs) > maximumErrors {
		r.errs = append(r.errs[:maximumErrors], fmt.Errorf("and %d errors more", len(r.errs)-maximumErrors))
	}
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	r.complete()
	r.tell(r.unknown)
	r.tell(r.skipped)
	return r.manifests, nil
}

// reader holds the objects read so far.
type reader struct {
	manifests *Manifests
	errs      []error

	deployments     []appsv1.Deployment
	statefulSets    []appsv1.StatefulSet
	replicaSets     []appsv1.ReplicaSet
	jobs            []batchv1.Job
	priorityClasses []schedulingv1.PriorityClass

	seen map[string]seen
	// skipped and unknown are kinds and fields that get one warning each.
	skipped, unknown map[string]*count
}

// seen is where an object comes from, and its place in its list.
type seen struct {
	d     *document.Document
	index int
}

// count is a warning about several objects. It names the first.
type count struct {
	text  string
	times int
}

func (r *reader) warnf(d *document.Document, path document.Path, format string, arguments ...any) {
	r.manifests.Warnings = append(r.manifests.Warnings, d.Errorf(path, format, arguments...).Error())
}

// once counts a warning, and makes its text the first time.
func once(counts map[string]*count, key string, text func() string) {
	if counts[key] == nil {
		counts[key] = &count{text: text()}
	}
	counts[key].times++
}

func (r *reader) tell(counts map[string]*count) {
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		text := counts[key].text
		if more := counts[key].times - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		r.manifests.Warnings = append(r.manifests.Warnings, text)
	}
}

// read reads one file or folder. Its error ends the reading. Faults of objects are collected, so
// that one run reports them all.
func (r *reader) read(name string, stdin io.Reader) error {
	if name == "-" {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
		r.text("<stdin>", text)
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return err // names the file
	}
	if info.IsDir() {
		return r.folder(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	r.text(name, text)
	return nil
}

func (r *reader) folder(name string) error {
	entries, err := os.ReadDir(name)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		switch strings.ToLower(filepath.Ext(entry.Name())) {
		case ".yaml", ".yml", ".json":
			if entry.IsDir() {
				continue
			}
			found = true
			if err := r.read(filepath.Join(name, entry.Name()), nil); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("%s: the folder has no file whose name ends in .yaml, .yml or .json", name)
	}
	return nil
}

func (r *reader) text(name string, text []byte) {
	documents, err := document.Split(name, text)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	for _, d := range documents {
		r.document(d)
	}
}
