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
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/spread"
)

// maximumErrors limits the reported errors. A file that is wrong throughout has one cause.
const maximumErrors = 20

// Manifests holds the objects of some files.
type Manifests struct {
	snapshot.Objects
	// Selectors are those of Services and of the controllers of pods, for default topology spread.
	Selectors []spread.Selector
	// PodGroups are the gangs of pods.
	PodGroups []api.PodGroup
	// Buffers and Requests are the CapacityBuffers and the ProvisioningRequests. Template returns what
	// they name, or nil.
	Buffers  []api.CapacityBuffer
	Requests []api.ProvisioningRequest
	Template func(kind, namespace, name string) *cluster.Template
	// Quotas bound the pods of buffers and requests.
	Quotas []corev1.ResourceQuota
	// Old are the objects of kinds before karpenter.sh/v1. Objects has what they become.
	Old legacy.Input
	// Warnings are one line each, for people: unknown kinds and fields, and what a plan has to assume.
	Warnings []string
	// Skipped are one line for each kind that no plan depends on.
	Skipped []string
}

// Read reads files. "-" is stdin. A folder stands for its files with names that end in .yaml, .yml
// or .json. Of two equal objects the last counts. The error joins one line for each fault, with
// file, line and field.
func Read(names []string, stdin io.Reader) (*Manifests, error) {
	documents, err := Documents(names, stdin)
	return readDocuments(documents, err)
}

// ReadDocuments is Read for documents. It takes their JSON.
func ReadDocuments(documents []*document.Document) (*Manifests, error) {
	return readDocuments(documents, nil)
}

// readDocuments reads documents. The faults are those of the files' texts.
func readDocuments(documents []*document.Document, faults error) (*Manifests, error) {
	r := &reader{
		manifests: &Manifests{}, seen: map[string]seen{}, skipped: map[string]*count{}, unknown: map[string]*count{},
		silent: map[string]*count{},
	}
	var found *faulty
	switch {
	case errors.As(faults, &found):
		r.errs = found.errs
	case faults != nil:
		return nil, faults
	}
	for _, d := range documents {
		r.document(d)
	}
	if len(r.errs) > 0 {
		return nil, r.failed()
	}
	r.complete()
	r.manifests.Template = r.template
	r.warnBuffers()
	r.warnQuotas()
	r.warnClassless()
	r.manifests.Warnings = append(r.manifests.Warnings, lines(r.unknown)...)
	r.manifests.Warnings = append(r.manifests.Warnings, lines(r.skipped)...)
	r.manifests.Skipped = lines(r.silent)
	return r.manifests, nil
}

// failed is the error of the files: the errors, and then the warnings, which may be about the same mistakes.
func (r *reader) failed() error {
	errs := r.errs
	if len(errs) > maximumErrors {
		errs = append(errs[:maximumErrors:maximumErrors], fmt.Errorf("and %d errors more", len(errs)-maximumErrors))
	}
	r.warnClassless()
	warnings := slices.Concat(r.manifests.Warnings, lines(r.unknown))
	if len(warnings) > maximumErrors {
		more := fmt.Sprintf("and %d warnings more", len(warnings)-maximumErrors)
		warnings = append(warnings[:maximumErrors:maximumErrors], more)
	}
	for _, warning := range warnings {
		errs = append(errs, errors.New(warning))
	}
	return errors.Join(errs...)
}

// reader holds the objects read so far.
type reader struct {
	manifests *Manifests
	errs      []error

	deployments     []appsv1.Deployment
	statefulSets    []appsv1.StatefulSet
	replicaSets     []appsv1.ReplicaSet
	jobs            []batchv1.Job
	controllers     []corev1.ReplicationController
	services        []corev1.Service
	priorityClasses []schedulingv1.PriorityClass
	podTemplates    []corev1.PodTemplate

	seen map[string]seen
	// skipped and unknown are kinds and fields that get one warning each. silent are kinds that get
	// none.
	skipped, unknown, silent map[string]*count
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

// lines returns one line for each kind or field, in order.
func lines(counts map[string]*count) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		text := counts[key].text
		if more := counts[key].times - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		all = append(all, text)
	}
	return all
}

// faulty holds the errors of texts that are neither YAML nor JSON. The other files are read anyway.
type faulty struct{ errs []error }

func (f *faulty) Error() string { return errors.Join(f.errs...).Error() }

// Documents splits files into their documents. The error of a file that cannot be opened ends the
// reading. Texts that are neither YAML nor JSON are left out, and the error joins their faults.
func Documents(names []string, stdin io.Reader) ([]*document.Document, error) {
	s := &splitter{}
	for _, name := range names {
		if err := s.read(name, stdin); err != nil {
			return nil, err
		}
	}
	if len(s.errs) > 0 {
		return s.documents, &faulty{s.errs}
	}
	return s.documents, nil
}

// splitter holds the documents of the files read so far.
type splitter struct {
	documents []*document.Document
	errs      []error
}

// read reads one file or folder.
func (s *splitter) read(name string, stdin io.Reader) error {
	if name == "-" {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
		s.text("<stdin>", text)
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return err // names the file
	}
	if info.IsDir() {
		return s.folder(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	s.text(name, text)
	return nil
}

func (s *splitter) folder(name string) error {
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
			if err := s.read(filepath.Join(name, entry.Name()), nil); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("%s: the folder has no file whose name ends in .yaml, .yml or .json", name)
	}
	return nil
}

func (s *splitter) text(name string, text []byte) {
	documents, err := document.Split(name, text)
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	s.documents = append(s.documents, documents...)
}
