package infra

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/nearest"
)

// defaultFile is read if it exists.
const defaultFile = "whittle.yaml"

// file is the configuration file. A nil file has no settings.
type file struct {
	path    string
	content map[string]any
	// clusters holds each cluster's own part of the file.
	clusters map[string]map[string]any
}

// readFile reads the file that the context key config names, or the default one if it exists.
func readFile(config any) (*file, error) {
	path, given := config.(string)
	if config != nil && !given {
		return nil, fmt.Errorf("context config: \"%v\" is no path: write it as in -c config=%s", config, defaultFile)
	}
	if path == "" {
		path = defaultFile
	}
	content, err := os.ReadFile(path)
	switch {
	case !given && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf(
			"context config: %w: give the path of the configuration file, as in -c config=%s", err, defaultFile,
		)
	}
	read := &file{path: path, content: map[string]any{}, clusters: map[string]map[string]any{}}
	if err := yaml.UnmarshalStrict(content, &read.content); err != nil {
		return nil, fmt.Errorf("%s: it is not YAML with keys and values: %s", path, oneLine(err))
	}
	return read, read.check()
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// settingKeys returns the keys of a cluster's part of the file, and those beside the clusters.
func settingKeys() (own, shared []string) {
	for _, s := range clusterSettings() {
		own = append(own, s.key)
	}
	shared = append([]string{"clusters"}, own...)
	for _, s := range stackSettings() {
		shared = append(shared, s.key)
	}
	return own, shared
}

// checkContext refuses keys of the context that are no settings. CDK's own have a colon, a slash or
// a hyphen.
func checkContext(keys []string) error {
	_, known := settingKeys()
	known = append(known, "config")
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if strings.ContainsAny(key, ":/-@") || slices.Contains(known, key) {
			continue
		}
		if meant := nearest.To(key, known); meant != "" {
			return fmt.Errorf("context %s: there is no such setting: did you mean -c %s?", key, meant)
		}
		slices.Sort(known)
		return fmt.Errorf("context %s: there is no such setting: use one of %s", key, strings.Join(known, ", "))
	}
	return nil
}

// check refuses unknown keys, and fills clusters.
func (f *file) check() error {
	own, shared := settingKeys()
	if err := f.known("", f.content, shared); err != nil {
		return err
	}
	clusters, ok := f.content["clusters"].(map[string]any)
	if !ok {
		return nil
	}
	for name, part := range clusters {
		settings, ok := part.(map[string]any)
		if part != nil && !ok {
			return fmt.Errorf(
				"%s: clusters.%s: \"%v\" is no map: write keys and values under it, or {} for none", f.path, name, part,
			)
		}
		if err := f.known("clusters."+name+".", settings, own); err != nil {
			return err
		}
		f.clusters[name] = settings
	}
	return nil
}

func (f *file) known(prefix string, part map[string]any, keys []string) error {
	for _, key := range slices.Sorted(maps.Keys(part)) {
		if !slices.Contains(keys, key) {
			slices.Sort(keys)
			return fmt.Errorf("%s: %s%s: there is no such key: use one of %s", f.path, prefix, key, strings.Join(keys, ", "))
		}
	}
	return nil
}

func (f *file) name() string {
	if f == nil {
		return ""
	}
	return f.path
}

// shared returns a setting for all clusters, or for the stack.
func (f *file) shared(key string) any {
	if f == nil {
		return nil
	}
	return f.content[key]
}

// of returns a setting of the cluster's own part.
func (f *file) of(cluster, key string) any {
	if f == nil {
		return nil
	}
	return f.clusters[cluster][key]
}
