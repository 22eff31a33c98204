package cloudformation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

func (s *Service) getTemplate(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ StackName, ChangeSetName, TemplateStage string }
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body := st.body
	if in.ChangeSetName != "" {
		set, ok := st.findChangeSet(in.ChangeSetName)
		if !ok {
			return nil, changeSetNotFound(in.ChangeSetName)
		}
		body = set.deployment.body
	}
	return wire.QueryXML(c, namespace, struct {
		TemplateBody    string
		StagesAvailable []string `xml:"StagesAvailable>member"`
	}{body, []string{"Original", "Processed"}})
}

type declarationXML struct {
	ParameterKey  string
	DefaultValue  string `xml:",omitempty"`
	ParameterType string `xml:",omitempty"`
	NoEcho        bool
	Description   string `xml:",omitempty"`
}

func (t *template) showDeclarations() []declarationXML {
	var shown []declarationXML
	for _, key := range slices.Sorted(maps.Keys(t.Parameters)) {
		d := t.Parameters[key]
		text, _ := scalarText(d.Default)
		shown = append(shown, declarationXML{key, text, d.Type, d.hidden(), d.Description})
	}
	return shown
}

// neededCapabilities returns the capabilities that a caller must acknowledge.
func (t *template) neededCapabilities() (capabilities []string, reason string) {
	if checkCapabilities(t, nil) == nil {
		return nil, ""
	}
	capability := "CAPABILITY_IAM"
	if checkCapabilities(t, []string{"CAPABILITY_IAM"}) != nil {
		capability = "CAPABILITY_NAMED_IAM"
	}
	return []string{capability}, "The following resource(s) require capabilities: [AWS::IAM]"
}

// requestedTemplate parses the template that a request names: in its body, by its URL or by its
// stack.
func (s *Service) requestedTemplate(c *wire.Call) (*template, error) {
	var in stackInput
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	var st *stack
	if in.StackName != "" {
		var err error
		if st, err = s.named(c, &in, &in.StackName); err != nil {
			return nil, err
		}
		in.UsePreviousTemplate = true
	}
	body, err := s.templateOf(in, st)
	if err != nil {
		return nil, err
	}
	t, err := parseTemplate(body)
	if err != nil {
		return nil, validationError("template format error: %v", err)
	}
	return t, nil
}

func (s *Service) getTemplateSummary(_ context.Context, c *wire.Call) (*wire.Response, error) {
	t, err := s.requestedTemplate(c)
	if err != nil {
		return nil, err
	}
	type identifier struct {
		ResourceType       string
		LogicalResourceIDs []string `xml:"LogicalResourceIds>member"`
	}
	var result struct {
		Parameters                  []declarationXML `xml:"Parameters>member"`
		Description                 string           `xml:",omitempty"`
		Capabilities                []string         `xml:"Capabilities>member"`
		CapabilitiesReason          string           `xml:",omitempty"`
		ResourceTypes               []string         `xml:"ResourceTypes>member"`
		ResourceIdentifierSummaries []identifier     `xml:"ResourceIdentifierSummaries>member"`
	}
	result.Parameters, result.Description = t.showDeclarations(), t.Description
	result.Capabilities, result.CapabilitiesReason = t.neededCapabilities()
	byType := map[string][]string{}
	for id, d := range t.Resources {
		byType[d.Type] = append(byType[d.Type], id)
	}
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		slices.Sort(byType[kind])
		result.ResourceTypes = append(result.ResourceTypes, kind)
		result.ResourceIdentifierSummaries = append(result.ResourceIdentifierSummaries, identifier{kind, byType[kind]})
	}
	return wire.QueryXML(c, namespace, result)
}

func (s *Service) validateTemplate(_ context.Context, c *wire.Call) (*wire.Response, error) {
	t, err := s.requestedTemplate(c)
	if err != nil {
		return nil, err
	}
	var result struct {
		Parameters         []declarationXML `xml:"Parameters>member"`
		Description        string           `xml:",omitempty"`
		Capabilities       []string         `xml:"Capabilities>member"`
		CapabilitiesReason string           `xml:",omitempty"`
	}
	result.Parameters, result.Description = t.showDeclarations(), t.Description
	result.Capabilities, result.CapabilitiesReason = t.neededCapabilities()
	return wire.QueryXML(c, namespace, result)
}

func (s *Service) listExports(_ context.Context, c *wire.Call) (*wire.Response, error) {
	type exported struct {
		ExportingStackID string `xml:"ExportingStackId"`
		Name             string
		Value            string
	}
	var result struct {
		Exports []exported `xml:"Exports>member"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stacks {
		for _, o := range st.outputs {
			if o.export != "" {
				result.Exports = append(result.Exports, exported{st.id, o.export, o.value})
			}
		}
	}
	slices.SortFunc(result.Exports, func(a, b exported) int { return strings.Compare(a.Name, b.Name) })
	return wire.QueryXML(c, namespace, result)
}

func (s *Service) listImports(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ ExportName string }
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	users := s.importers(in.ExportName)
	if len(users) == 0 {
		return nil, validationError("Export '%s' is not imported by any stack.", in.ExportName)
	}
	return wire.QueryXML(c, namespace, struct {
		Imports []string `xml:"Imports>member"`
	}{users})
}
