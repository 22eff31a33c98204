package nodeclass

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// Planned returns the class as plans count it: its kubelet has the settings of the user data too,
// because the nodes have them. The class's own settings win, and command line flags win over both. It
// returns the class itself where the user data has no such settings, or cannot be read: then the class
// is not ready, and no node is planned. Beside expressions in the class's kubelet, those of the user data
// do not count.
func Planned(class *api.EC2NodeClass) *api.EC2NodeClass {
	if class.Spec.UserData == nil || kubelet.HasExpressions(class) {
		return class
	}
	config, flags := userSettings(class)
	if config == nil && flags == nil {
		return class
	}
	made := &api.KubeletConfiguration{}
	for _, settings := range []*api.KubeletConfiguration{config, class.Spec.Kubelet, flags} {
		overlay(made, settings)
	}
	planned := *class
	planned.Spec.Kubelet = made
	return &planned
}

// overlay writes the settings that decide how many pods fit over those of made.
func overlay(made, settings *api.KubeletConfiguration) {
	if settings == nil {
		return
	}
	made.MaxPods = cmp.Or(settings.MaxPods, made.MaxPods)
	made.PodsPerCore = cmp.Or(settings.PodsPerCore, made.PodsPerCore)
	made.KubeReserved = joined(made.KubeReserved, settings.KubeReserved)
	made.SystemReserved = joined(made.SystemReserved, settings.SystemReserved)
	made.EvictionHard = joined(made.EvictionHard, settings.EvictionHard)
}

// joined has the entries of both, of which the later win.
func joined(earlier, later map[string]string) map[string]string {
	if len(earlier) == 0 {
		return later
	}
	all := maps.Clone(earlier)
	maps.Copy(all, later)
	return all
}

// userSettings reads the kubelet's settings in the user data: those of its configuration, and those of
// its command line.
func userSettings(class *api.EC2NodeClass) (config, flags *api.KubeletConfiguration) {
	switch class.AMIFamily() {
	case api.AMIFamilyAL2023:
		for _, part := range nodeConfigs(*class.Spec.UserData) {
			config = withConfig(config, part.Spec.Kubelet.Config)
			for _, flag := range part.Spec.Kubelet.Flags {
				flags = withFlag(flags, flag)
			}
		}
	case api.AMIFamilyBottlerocket:
		document := struct {
			Settings struct {
				Kubernetes map[string]any `toml:"kubernetes"`
			} `toml:"settings"`
		}{}
		if toml.Unmarshal([]byte(*class.Spec.UserData), &document) != nil {
			return nil, nil
		}
		named := map[string]any{}
		for key, name := range map[string]string{"max-pods": "maxPods", "kube-reserved": "kubeReserved",
			"system-reserved": "systemReserved", "eviction-hard": "evictionHard"} {
			if value, ok := document.Settings.Kubernetes[key]; ok {
				named[name] = value
			}
		}
		config = withConfig(nil, named)
	}
	return config, flags
}

// nodeConfigs returns the NodeConfigs of the user data, in order. It returns none that cannot be read.
func nodeConfigs(own string) []userConfig {
	var configs []userConfig
	parts := al2023Parts(func(_ string, body []byte) error {
		var config userConfig
		err := decodeNodeConfig(body, &config)
		if err == nil {
			configs = append(configs, config)
		}
		return err
	})
	if _, err := document(parts, own, nodeConfigType, nil); err != nil {
		return nil
	}
	return configs
}

// withConfig adds the counted fields of a kubelet's configuration to the settings, which may be nil. A
// field of another shape does not count.
func withConfig(settings *api.KubeletConfiguration, config map[string]any) *api.KubeletConfiguration {
	for _, name := range []string{"maxPods", "podsPerCore", "kubeReserved", "systemReserved", "evictionHard"} {
		value, ok := config[name]
		if !ok {
			continue
		}
		encoded, err := json.Marshal(map[string]any{name: value})
		if err != nil {
			continue
		}
		read := &api.KubeletConfiguration{}
		if json.Unmarshal(encoded, read) != nil {
			continue
		}
		if settings == nil {
			settings = &api.KubeletConfiguration{}
		}
		overlay(settings, read)
	}
	return settings
}

// withFlag adds a flag of the kubelet's command line to the settings, which may be nil.
func withFlag(settings *api.KubeletConfiguration, flag string) *api.KubeletConfiguration {
	name, value, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	value = strings.Trim(value, `"'`)
	read := &api.KubeletConfiguration{}
	number := func(into **int32) {
		if n, err := strconv.ParseInt(value, 10, 32); err == nil {
			short := int32(n)
			*into = &short
		}
	}
	switch name {
	case "max-pods":
		number(&read.MaxPods)
	case "pods-per-core":
		number(&read.PodsPerCore)
	case "kube-reserved":
		read.KubeReserved = entries(value, "=")
	case "system-reserved":
		read.SystemReserved = entries(value, "=")
	case "eviction-hard":
		read.EvictionHard = entries(value, "<")
	default:
		return settings
	}
	if settings == nil {
		settings = &api.KubeletConfiguration{}
	}
	overlay(settings, read)
	return settings
}

// entries reads a list such as cpu=100m,memory=1Gi.
func entries(list, separator string) map[string]string {
	read := map[string]string{}
	for entry := range strings.SplitSeq(list, ",") {
		if key, value, ok := strings.Cut(entry, separator); ok {
			read[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return read
}
