package world_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// reading is the output of reader.mjs.
type reading struct {
	Caller        struct{ Account, Arn string }
	InstanceTypes struct {
		Pages int
		Names []string
		Large struct {
			VCPUs         int
			MemoryMiB     int64
			Architectures []string
		}
	}
	Launch struct {
		Subnets []struct{ ID, Zone, CIDR string }
		Asked   struct {
			Image, InstanceID string
			TemplateVersion   int
		}
		Got struct {
			InstanceID, Type, Image, Subnet, Purpose string
			Launched                                 bool
		}
		Ended []struct{ ID, State string }
	}
	Message struct {
		Sent     string
		Received []struct{ ID, Body, Count string }
	}
	Cluster struct{ Endpoint, Version, Authority, Status string }
	Price   []float64
	Looks   []struct {
		Cluster string
		Spot    *float64
	}
}

// readByAnotherSDK checks the local AWS with another language's SDK, which may read the protocols
// differently.
func readByAnotherSDK(t *testing.T, w *world.World, cluster string) {
	command := exec.CommandContext(t.Context(), "node", "reader.mjs", cluster)
	command.Env = append(w.Environment(), "PATH="+os.Getenv("PATH"), "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE=1")
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		t.Fatalf("reader.mjs: %v\n%s", err, failure.String())
	}
	var got reading
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("reader.mjs printed %s: %v", out, err)
	}
	if got.Caller.Account != world.AccountID || !strings.HasPrefix(got.Caller.Arn, "arn:aws:iam::"+world.AccountID+":") {
		t.Errorf("the caller is %+v", got.Caller)
	}
	t.Run("instance types and prices", func(t *testing.T) { checkTypes(t, got) })
	t.Run("a launch", func(t *testing.T) { checkLaunch(t, got, w) })
	t.Run("a message", func(t *testing.T) {
		received := got.Message.Received
		if len(received) != 1 || received[0].ID != got.Message.Sent || received[0].ID == "" ||
			received[0].Body != "one & <two>" || received[0].Count != "1" {
			t.Errorf("got %+v", got.Message)
		}
	})
	t.Run("the cluster", func(t *testing.T) {
		authority := base64.StdEncoding.EncodeToString(w.ControlPlane.CertificateAuthority)
		if c := got.Cluster; c.Endpoint != w.ControlPlane.Endpoint || c.Authority != authority || c.Status != "ACTIVE" ||
			!strings.HasPrefix(w.ControlPlane.Version, "v"+c.Version+".") {
			t.Errorf("got %+v", got.Cluster)
		}
	})
	t.Run("a function's log", func(t *testing.T) {
		if len(got.Looks) == 0 {
			t.Error("lifecycle's log counts no nodes")
		}
		for _, look := range got.Looks {
			if look.Cluster != cluster || look.Spot == nil {
				t.Errorf("lifecycle's log has %+v", look)
			}
		}
	})
}

func checkTypes(t *testing.T, got reading) {
	known, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range known {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	if read := slices.Sorted(slices.Values(got.InstanceTypes.Names)); !slices.Equal(read, names) {
		t.Errorf("%d instance types were read, want %d", len(read), len(names))
	}
	if want := (len(names) + 99) / 100; got.InstanceTypes.Pages != want {
		t.Errorf("the types came in %d pages of 100, want %d", got.InstanceTypes.Pages, want)
	}
	i := slices.IndexFunc(known, func(one builtin.InstanceType) bool { return one.Name == "m5.large" })
	want := known[i]
	if large := got.InstanceTypes.Large; large.VCPUs != want.VCPUs || large.MemoryMiB != want.MemoryMiB ||
		!slices.Equal(large.Architectures, want.Architectures) {
		t.Errorf("m5.large is read as %+v", large)
	}
	if !slices.Equal(got.Price, []float64{want.OnDemandPrice}) {
		t.Errorf("m5.large costs %v, want %v", got.Price, want.OnDemandPrice)
	}
}

func checkLaunch(t *testing.T, got reading, w *world.World) {
	launch := got.Launch
	if len(launch.Subnets) != 1 || launch.Subnets[0].Zone != "us-east-1b" || launch.Subnets[0].CIDR != "10.0.16.0/20" {
		t.Fatalf("subnets of us-east-1b: %+v", launch.Subnets)
	}
	instance := launch.Got
	if instance.InstanceID != launch.Asked.InstanceID || instance.Image != launch.Asked.Image ||
		instance.Subnet != launch.Subnets[0].ID || launch.Asked.TemplateVersion != 1 {
		t.Errorf("asked for %+v, got %+v", launch.Asked, instance)
	}
	if instance.Type != "m5.large" || instance.Purpose != "reading & <writing>" || !instance.Launched {
		t.Errorf("the instance is read as %+v", instance)
	}
	if len(launch.Ended) != 1 || launch.Ended[0].ID != instance.InstanceID || launch.Ended[0].State != "shutting-down" {
		t.Errorf("the termination is read as %+v", launch.Ended)
	}
	if i := slices.IndexFunc(w.EC2.Instances(), func(one ec2.Instance) bool {
		return one.ID == instance.InstanceID
	}); i < 0 {
		t.Errorf("EC2 does not know instance %s", instance.InstanceID)
	}
}
