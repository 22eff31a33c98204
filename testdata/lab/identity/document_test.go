package identity

import (
	"strings"
	"testing"
)

func TestParseDocumentRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		text, want string
		trust      bool
	}{
		"no JSON":      {"x", "cannot be read", false},
		"no statement": {`{"Version":"2012-10-17"}`, "no Statement", false},
		"unknown element": {
			`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"*","Ressource":"*"}}`, "Ressource", false,
		},
		"unknown effect": {`{"Statement":{"Effect":"Maybe","Action":"a:b","Resource":"*"}}`, `not "Maybe"`, false},
		"both actions": {
			`{"Statement":{"Sid":"S","Effect":"Allow","Action":"a:b","NotAction":"a:c","Resource":"*"}}`,
			"statement S of the policy: it needs either Action or NotAction", false,
		},
		"action without a service": {
			`{"Statement":{"Effect":"Allow","Action":"SendMessage","Resource":"*"}}`, "service:Action", false,
		},
		"no resource": {`{"Statement":{"Effect":"Allow","Action":"a:b"}}`, "Resource or NotResource", false},
		"resource that is no ARN": {
			`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"queue"}}`, "ARN format", false,
		},
		"action that is no string": {
			`{"Statement":{"Effect":"Allow","Action":{"a":"b"},"Resource":"*"}}`, "a string or a list", false,
		},
		"unknown operator": {
			`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"*","Condition":{"StringAlmost":{"k":"v"}}}}`,
			"StringAlmost is not simulated", false,
		},
		"principal in a permission": {
			`{"Statement":{"Effect":"Allow","Action":"a:b","Resource":"*","Principal":"*"}}`, "no Principal", false,
		},
		"trust without a principal": {
			`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole"}}`, "needs a Principal", true,
		},
		"too long": {strings.Repeat(" ", maxDocument+1), "the limit is", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseDocument(test.text, test.trust)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func FuzzParseDocument(f *testing.F) {
	f.Add(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["a:b"],"Resource":"*",`+
			`"Condition":{"Bool":{"k":true}}}]}`, "arn:aws:s3:::a")
	f.Add(`{"Statement":{"Effect":"Deny","NotAction":"*","NotResource":"arn:*${x}"}}`, "arn:aws:s3:::a")
	f.Fuzz(func(t *testing.T, text, resource string) {
		d, err := parseDocument(text, false)
		if err != nil {
			return
		}
		d.evaluate(question{action: "a:b", resource: resource, context: map[string][]string{"k": {"true"}}}, nil)
	})
}
