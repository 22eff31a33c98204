package world

import (
	"errors"
	"os"
	"strings"
)

// Environment is the environment of a program that uses the local AWS as its operator.
func (w *World) Environment() []string {
	operator := w.identity.Operator()
	return []string{
		"AWS_ENDPOINT_URL=" + w.server.URL(),
		"AWS_ACCESS_KEY_ID=" + operator.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + operator.SecretAccessKey,
		"AWS_REGION=" + Region,
		"AWS_DEFAULT_REGION=" + Region,
		"CDK_DEFAULT_ACCOUNT=" + AccountID,
		"CDK_DEFAULT_REGION=" + Region,
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1",
		"AWS_EC2_METADATA_DISABLED=true",
		"NO_COLOR=1",
	}
}

// withoutAWS drops every setting that leads a program to another AWS.
func withoutAWS(environment []string) []string {
	var kept []string
	for _, entry := range environment {
		if !strings.HasPrefix(entry, "AWS_") && !strings.HasPrefix(entry, "CDK_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// tail returns the last lines of a log as an error's detail.
func tail(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return errors.New(strings.Join(lines[max(0, len(lines)-30):], "\n"))
}
