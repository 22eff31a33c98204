package machine

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// windowsScript is the script with which EKS' Windows images join a cluster.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
const windowsScript = "Start-EKSBootstrap.ps1"

// windowsParameters are the script's parameters in lower case, as PowerShell compares them.
func windowsParameters() []string {
	return []string{
		"eksclustername", "apiserverendpoint", "base64clusterca", "dnsclusterip", "kubeletextraargs", "kubeproxyextraargs",
		"containerruntime", "servicecidr",
		"excludedsnatcidrs", "servicenodeportrange",
	}
}

// windows reads the PowerShell part of user data as EC2Launch does, and runs through it until it
// calls Start-EKSBootstrap.ps1.
func (u userData) windows() (*joining, error) {
	text := string(u.text)
	_, rest, opened := strings.Cut(text, "<powershell>")
	script, _, closed := strings.Cut(rest, "</powershell>")
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("user data is empty: nothing calls " + windowsScript)
	case !opened:
		return nil, errors.New("user data has no <powershell>, so that EC2Launch runs nothing")
	case !closed:
		return nil, errors.New("user data's <powershell> is never closed, so that EC2Launch runs nothing")
	}
	arguments, called, err := powershellCall(script)
	if err != nil {
		return nil, err
	}
	if !called {
		return nil, fmt.Errorf("no statement of the user data calls %s, so that the node knows no cluster to join",
			windowsScript)
	}
	return u.windowsArguments(arguments)
}

func (u userData) windowsArguments(words []string) (*joining, error) {
	given := map[string]string{}
	for n := 0; n < len(words); n++ {
		name, value, assigned := strings.Cut(words[n], ":")
		lower, dashed := strings.CutPrefix(strings.ToLower(name), "-")
		if !dashed {
			return nil, fmt.Errorf("a positional parameter cannot be found that accepts argument %q", words[n])
		}
		if !slices.Contains(windowsParameters(), lower) {
			return nil, fmt.Errorf("a parameter cannot be found that matches parameter name %q: want one of %q",
				strings.TrimPrefix(name, "-"), windowsParameters())
		}
		if !assigned {
			if n+1 == len(words) {
				return nil, fmt.Errorf("missing an argument for parameter %q", strings.TrimPrefix(name, "-"))
			}
			n++
			value = words[n]
		}
		if _, twice := given[lower]; twice {
			return nil, fmt.Errorf("parameter %q is specified more than once", strings.TrimPrefix(name, "-"))
		}
		given[lower] = value
	}
	j := &joining{
		cluster: given["eksclustername"], endpoint: given["apiserverendpoint"], cidr: given["servicecidr"],
		flagsSetting: "-KubeletExtraArgs",
		kubeletField: "-KubeletExtraArgs ", plainMaxPods: true, reservesForPods: true, keepsFree: "500Mi",
		dns: []string{guessedDNS},
	}
	if j.cluster == "" {
		return nil, errors.New("missing an argument for the mandatory parameter EKSClusterName")
	}
	if err := u.findCluster(j, "-APIServerEndpoint", "-Base64ClusterCA", given["base64clusterca"]); err != nil {
		return nil, err
	}
	if runtime := given["containerruntime"]; runtime != "" && !strings.EqualFold(runtime, "containerd") {
		return nil, fmt.Errorf("-ContainerRuntime %s: the images have containerd alone", runtime)
	}
	if address := given["dnsclusterip"]; address != "" {
		j.dns, j.dnsFrom = []string{address}, "-DNSClusterIP"
	}
	var err error
	if j.flags, err = shellWords(given["kubeletextraargs"]); err != nil {
		return nil, fmt.Errorf("-KubeletExtraArgs: %w", err)
	}
	return j, nil
}

func assignmentPattern() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:\[[A-Za-z.\[\]]+\]\s*)?\$([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.+)$`)
}

// powershellCall looks through a script, without running it, for the statement that calls the
// bootstrap script, and gives its arguments.
func powershellCall(script string) (arguments []string, called bool, err error) {
	variables := map[string]string{
		"env:programfiles": `C:\Program Files`, "env:systemdrive": "C:", "env:programdata": `C:\ProgramData`,
	}
	assignment := assignmentPattern()
	for _, statement := range powershell().statements(script) {
		statement = strings.TrimSpace(statement)
		if match := assignment.FindStringSubmatch(statement); match != nil {
			words, err := powershell().words(match[2], variables)
			if err == nil && len(words) == 1 {
				variables[strings.ToLower(match[1])] = words[0]
			}
			continue
		}
		words, err := powershell().words(statement, variables)
		if len(words) > 0 && (words[0] == "&" || words[0] == ".") {
			words = words[1:]
		}
		if len(words) > 0 && strings.HasSuffix(strings.ToLower(words[0]), strings.ToLower(windowsScript)) {
			return words[1:], true, err
		}
	}
	return nil, false, nil
}

// powershell is the language of PowerShell. A backtick at a line's end continues it.
func powershell() scriptLanguage {
	return scriptLanguage{
		escape: '`', escapeKept: func(byte, byte) bool { return false }, continued: " ", ends: ";", comment: func(byte) bool {
			return true
		}, doubled: true,
		unknowable: func(text, statement string) error {
			if !strings.HasPrefix(text, "$(") {
				return nil
			}
			return fmt.Errorf("%q has a subexpression, which only PowerShell can run", statement)
		},
		variable: func(text string, variables map[string]string) (string, int, error) {
			name, length := powershellVariable(text)
			value, known := variables[strings.ToLower(name)]
			if !known {
				return "", 0, fmt.Errorf("variable $%s was never set to text (those that were: %q)", name,
					slices.Sorted(maps.Keys(variables)))
			}
			return value, length, nil
		},
		open: func(quote byte) error { return fmt.Errorf("the string is missing the terminator: %c", quote) },
	}
}

// powershellVariable reads the name after a dollar sign, such as env:ProgramFiles or {name}, and tells how long it is.
func powershellVariable(text string) (name string, length int) {
	if inner, _, closed := strings.Cut(strings.TrimPrefix(text, "{"), "}"); strings.HasPrefix(text, "{") && closed {
		return inner, len(inner) + 2
	}
	for length < len(text) {
		c := text[length]
		if c == '_' || c == ':' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			length++
			continue
		}
		break
	}
	return text[:length], length
}
