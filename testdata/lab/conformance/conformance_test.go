//go:build conformance

package conformance

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	localec2 "github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
	"github.com/whittle-dev/whittle/testdata/lab/servicemodel"
	localssm "github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// consoles are machines that do nothing but boot.
type consoles struct{}

func (consoles) InstanceChanged(localec2.Instance) {}

func (consoles) ConsoleOutput(string) string { return "booted" }

// localAWS starts the local AWS.
func localAWS(t *testing.T) *server {
	t.Helper()
	people, err := identity.New(AccountID, Region)
	if err != nil {
		t.Fatal(err)
	}
	parameters := localssm.New(AccountID, Region)
	machines, err := localec2.New(localec2.Config{
		AccountID: AccountID, Region: Region, Parameters: parameters, InstanceProfiles: people, Machines: consoles{},
		Timing: localec2.Timing{Stopping: 10 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = machines.Close() })
	machines.RegisterCluster(cluster, "1.36")
	endpoint := wire.NewServer()
	plans, err := savingsplans.New(AccountID, Region)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []interface{ Register(*wire.Server) }{people, parameters, machines, plans} {
		part.Register(endpoint)
	}
	url, err := endpoint.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = endpoint.Close() })
	operator := people.Operator()
	s := newServer(aws.Config{
		Region: Region, BaseEndpoint: &url, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	})
	s.local, s.localPlans = machines, plans
	return s
}

func TestConformance(t *testing.T) {
	environment, moto := StartMoto(t)
	local, other := localAWS(t), newServer(moto.Config())
	local.run(t.Context())
	other.run(t.Context())
	for what, failure := range local.failed {
		t.Errorf("the local AWS: %s: %s", what, failure)
	}
	for what, failure := range other.failed {
		if _, excepted := motoFails()[what]; !excepted {
			t.Errorf("moto: %s: %s", what, failure)
		}
	}
	t.Run("every answer of the local AWS is as botocore's models have it", func(t *testing.T) {
		validated := validateAll(t, environment, local.all())
		t.Logf("%d answers to %d actions validated", len(local.all()), validated)
	})
	t.Run("the local AWS answers what moto does", func(t *testing.T) { compareShapes(t, local.all(), other.all()) })
	t.Run("both refuse with the same codes", func(t *testing.T) {
		for _, what := range slices.Sorted(maps.Keys(other.refused)) {
			ours, theirs := local.refused[what], other.refused[what]
			if reason, excepted := otherCodes()[what]; excepted && ours != theirs {
				t.Logf("%s: %s, and moto %s: %s", what, ours, theirs, reason)
				continue
			}
			if ours != theirs {
				t.Errorf("%s: the local AWS refuses with %s, moto with %s", what, ours, theirs)
			}
		}
	})
}

// validateAll holds answers against the models, and gives the number of actions.
func validateAll(t *testing.T, environment *Environment, answers []answer) int {
	t.Helper()
	folder, err := environment.Models()
	if err != nil {
		t.Fatal(err)
	}
	models, actions, reported := map[string]*servicemodel.Model{}, map[string]bool{}, map[string]bool{}
	for _, a := range answers {
		if a.status != 200 {
			continue
		}
		if models[a.service] == nil {
			if models[a.service], err = servicemodel.Load(folder, a.service); err != nil {
				t.Fatal(err)
			}
		}
		actions[a.service+" "+a.action] = true
		for _, problem := range validate(models[a.service], a.action, a.body) {
			path, _, _ := strings.Cut(problem, ": ")
			if _, excepted := otherWords()[path]; !excepted && !reported[problem] {
				reported[problem] = true
				t.Errorf("%s %s", a.service, problem)
			}
		}
	}
	return len(actions)
}

// elements are the paths of all elements in successful answers, by action.
func elements(t *testing.T, answers []answer) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	for _, a := range answers {
		if a.status != 200 {
			continue
		}
		if found[a.action] == nil {
			found[a.action] = map[string]bool{}
		}
		if a.service == "ssm" {
			var value any
			if err := json.Unmarshal(a.body, &value); err != nil {
				t.Fatalf("%s: %v", a.action, err)
			}
			members(value, "", found[a.action])
			continue
		}
		root, err := parseXML(a.body)
		if err != nil {
			t.Fatalf("%s: %v", a.action, err)
		}
		root.paths("", found[a.action])
	}
	return found
}

// members are the paths of a JSON value.
func members(value any, prefix string, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			into[prefix+"/"+name] = true
			members(member, prefix+"/"+name, into)
		}
	case []any:
		for _, item := range v {
			members(item, prefix, into)
		}
	}
}

func compareShapes(t *testing.T, ours, theirs []answer) {
	t.Helper()
	local, other := elements(t, ours), elements(t, theirs)
	compared, excepted, beyond, used := 0, 0, 0, map[string]bool{}
	for _, action := range slices.Sorted(maps.Keys(other)) {
		for _, path := range slices.Sorted(maps.Keys(other[action])) {
			compared++
			if local[action][path] {
				continue
			}
			exception := exceptionFor(action + path)
			if exception == "" {
				t.Errorf("%s%s: moto answers it and the local AWS does not", action, path)
			}
			used[exception] = true
			excepted++
		}
		for path := range local[action] {
			if !other[action][path] {
				beyond++
			}
		}
	}
	for exception := range notHere() {
		if !used[exception] {
			t.Errorf("the exception %s is not needed any more", exception)
		}
	}
	t.Logf("%d elements of %d actions compared: %d are excepted, and the local AWS answers %d more", compared, len(other),
		excepted, beyond)
}

func TestEveryExceptionHasAReason(t *testing.T) {
	for _, list := range []map[string]string{notHere(), otherCodes(), otherWords(), motoFails()} {
		for what, reason := range list {
			if len(reason) < 10 {
				t.Errorf("%s has the reason %q", what, reason)
			}
		}
	}
}
