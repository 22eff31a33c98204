package cloudformation

import (
	"strings"
	"testing"
	"time"
)

// FuzzTemplate prepares a deployment from any text: bad input returns an error and never panics.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"Resources":{"A":{"Type":"T","Properties":{"X":{"Fn::Sub":["${a}${!b}${",{"a":{"Ref":"AWS::Region"}}]}}}}}`)
	f.Add(
		`{"Parameters":{"P":{"Type":"CommaDelimitedList","Default":"a,b"}},"Resources":{"A":{"Type":"T",` +
			`"Properties":{"X":{"Fn::Select":[-1,{"Ref":"P"}]}}}}}`)
	f.Add(
		`{"Conditions":{"C":{"Fn::Or":[{"Condition":"C"},{"Fn::Equals":[1,"1"]}]}},"Resources":{"A":{"Type":"T",` +
			`"Condition":"C","DependsOn":["A"]}}}`)
	f.Add(
		`{"Mappings":{"M":{"a":{"b":[1]}}},"Resources":{"A":{"Type":"T","Properties":{"X":{"Fn::FindInMap":["M","a","b"]},` +
			`"Y":{"Fn::GetAtt":"A."},"Z":{"Fn::If":["C"]}}}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		s := New(Config{AccountID: "123456789012", Region: "us-east-1"})
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		d, err := s.prepare(t.Context(), s.newStack(stackInput{StackName: "S"}, time.Unix(0, 0)), body, nil)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error says nothing")
			}
			return
		}
		for id := range d.graph {
			if properties, err := d.resolver.properties(d.template.Resources[id].Properties); err == nil && properties == nil {
				t.Errorf("resource %s resolved to nothing", id)
			}
		}
	})
}
