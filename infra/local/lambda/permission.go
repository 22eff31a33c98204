package lambda

import (
	"path"
	"strings"
)

// permission is a statement of a function's resource policy, made by AWS::Lambda::Permission.
type permission struct {
	Action        string
	Principal     string
	SourceARN     string
	SourceAccount string
}

// permits reports whether a service may invoke the function for the source.
func (f *function) permits(service, sourceARN string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.permissions {
		if p.Action != "lambda:InvokeFunction" && p.Action != "lambda:*" && p.Action != "*" || p.Principal != service &&
			p.Principal != "*" {
			continue
		}
		if p.SourceARN != "" && !matchesARN(p.SourceARN, sourceARN) {
			continue
		}
		if parts := strings.Split(sourceARN, ":"); p.SourceAccount != "" && (len(parts) < 5 || parts[4] != p.SourceAccount) {
			continue
		}
		return true
	}
	return false
}

func matchesARN(pattern, arn string) bool {
	hide := strings.NewReplacer("/", "\x00", "[", `\[`, `\`, `\\`)
	matched, err := path.Match(hide.Replace(pattern), strings.ReplaceAll(arn, "/", "\x00"))
	return err == nil && matched
}
