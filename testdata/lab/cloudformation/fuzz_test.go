package cloudformation

import (
	"strings"
	"testing"
	"time"
)

// FuzzTemplate prepares a deployment from any text: bad input returns an error and never panics.
func FuzzTemplate(f *testing.F) {
	f.Add(`{"Resources":{"A":{"Type":"T","Properties":{"X":{"Fn::Sub":"${a}${!b}${AWS::Region}${"}}}}}`)
	f.Add(`{"Resources":{"A":{"Type":"T","Condition":"C","DependsOn":["A"]}}}`)
	f.Add(`{"Resources":{"A":{"Type":"T","Properties":{"X":{"Fn::Join":["",[{"Ref":"AWS::StackId"}]]},` +
		`"Y":{"Fn::GetAtt":"A."},"Z":{"Fn::If":["C"]}}}},"Outputs":{"O":{"Value":{"Ref":"A"}}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		s := New(Config{AccountID: "123456789012", Region: "us-east-1"})
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		d, err := s.prepare(s.newStack(stackInput{StackName: "S"}, time.Unix(0, 0)), body)
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
