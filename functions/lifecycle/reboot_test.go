package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// order orders a reboot of the claim's node, as disrupt does.
func order(t *testing.T, name string) {
	t.Helper()
	boot(t, "node-"+name, "boot-1", true)
	claim := readClaim(t, name)
	server.Patch(t, api.NodeClaimsPath+"/"+name, reboot.Request(claim, 5*time.Minute))
	ordered := reboot.Order("AcceleratedHardwareReady/NvidiaXID63Error")
	ordered.LastTransitionTime = metav1.Now()
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"conditions": append(claim.Status.Conditions, ordered),
	}})
}

// boot acts as the kubelet of a machine with the boot id.
func boot(t *testing.T, node, id string, ready bool) {
	t.Helper()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	info := corev1.NodeSystemInfo{BootID: id, MachineID: "m", SystemUUID: "m", KernelVersion: "6", OSImage: "o",
		ContainerRuntimeVersion: "c", KubeletVersion: "v1.34.0", OperatingSystem: "linux", Architecture: "amd64"}
	server.Patch(t, functiontest.NodesPath+"/"+node+"/status", map[string]any{"status": map[string]any{
		"nodeInfo": info, "conditions": []map[string]any{{"type": "Ready", "status": status}},
	}})
}

func isFenced(t *testing.T, node string) bool {
	return slices.ContainsFunc(readNode(t, node).Spec.Taints, func(taint corev1.Taint) bool {
		return taint == api.RebootingNoScheduleTaint()
	})
}

// TestAnOrderedRebootKeepsTheNode shows the whole reboot. An unprotected pod leaves before it, and a
// protected one stays on the node.
func TestAnOrderedRebootKeepsTheNode(t *testing.T) {
	l := newLife(t)
	l.join(t, "stuck")
	server.Settle(t, "node-stuck")
	server.Pod(t, "free-stuck", "node-stuck")
	server.Pod(t, "kept-stuck", "node-stuck", func(p *corev1.Pod) {
		p.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	})
	order(t, "stuck")
	l.until(t, "node-stuck", func() bool { return isGone(t, "free-stuck") })
	if !isFenced(t, "node-stuck") || isGone(t, "kept-stuck") || len(l.ec2.reboots) != 0 {
		t.Fatalf("fenced %t, reboots %v", isFenced(t, "node-stuck"), l.ec2.reboots)
	}

	// EC2 throttles the call, and accepts it a little later.
	l.clock.ahead += 5 * time.Minute
	l.ec2.refuseReboot = errors.New("RequestLimitExceeded")
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); !errors.Is(err, l.ec2.refuseReboot) {
		t.Errorf("the error %v is not EC2's", err)
	}
	if claim := readClaim(t, "stuck"); claim.Annotations[api.RebootPreBootIDAnnotationKey] != "boot-1" ||
		reboot.IsIssued(claim) {
		t.Fatalf("annotations %v, conditions %+v", claim.Annotations, claim.Status.Conditions)
	}
	l.ec2.refuseReboot = nil
	// Passes between the ticks look at the node too.
	for range 2 {
		if _, err := l.handle(t.Context(), wakes(t, l.goOn(1))); err != nil {
			t.Fatal(err)
		}
	}
	claim := readClaim(t, "stuck")
	if !reboot.IsIssued(claim) || isReady(t, "stuck") || !slices.Equal(l.ec2.reboots, []string{"i-stuck"}) {
		t.Fatalf("reboots %v, conditions %+v", l.ec2.reboots, claim.Status.Conditions)
	}
	if node := readNode(t, "node-stuck"); node.Labels[api.NodeInitializedLabelKey] != "" {
		t.Error("a node that reboots has the label of an initialized one")
	}

	boot(t, "node-stuck", "boot-2", false)
	l.tickOnce(t)
	if !reboot.InProgress(readClaim(t, "stuck")) {
		t.Fatal("the reboot ends before the node is ready")
	}
	boot(t, "node-stuck", "boot-2", true)
	l.until(t, "node-stuck", func() bool { return isReady(t, "stuck") })
	claim = readClaim(t, "stuck")
	ended := api.GetCondition(claim.Status.Conditions, api.ConditionTypeRebooting)
	if isFenced(t, "node-stuck") || isGone(t, "kept-stuck") || ended.Reason != api.ReasonRebootSucceeded ||
		len(reboot.Begun(claim)) != 1 || len(l.ec2.reboots) != 1 || claim.DeletionTimestamp != nil {
		t.Errorf("fenced %t, %+v, begun %v, reboots %v", isFenced(t, "node-stuck"), ended, reboot.Begun(claim), l.ec2.reboots)
	}
	if reasons := server.Reasons(t, "stuck"); !reasons["RebootObserved"] || reasons["RebootFailed"] {
		t.Errorf("events %v", reasons)
	}
	server.Delete(t, functiontest.PodsPath+"/kept-stuck")
	server.Delete(t, api.NodeClaimsPath+"/stuck")
	l.until(t, "node-stuck", func() bool { return readClaim(t, "stuck") == nil })
}

// TestARebootThatFailsIsAReplacement holds that a refusal and a machine that does not come back end the
// node, and that the drain is bounded then.
func TestARebootThatFailsIsAReplacement(t *testing.T) {
	for name, fail := range map[string]func(*life){
		"refused": func(l *life) {
			l.ec2.refuseReboot = fmt.Errorf("%w: UnauthorizedOperation", fleet.ErrNoReboot)
			l.clock.ahead += 5 * time.Minute
			l.tickOnce(t)
		},
		"absent": func(l *life) {
			l.clock.ahead += 5 * time.Minute
			l.tickOnce(t)
			boot(t, "node-absent", "boot-1", false)
			l.clock.ahead += 19 * time.Minute
			l.tickOnce(t)
			if readClaim(t, "absent").DeletionTimestamp != nil {
				t.Error("the node had time left")
			}
			l.clock.ahead += time.Minute
			l.tickOnce(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.join(t, name)
			server.Settle(t, "node-"+name)
			order(t, name)
			l.tickOnce(t)
			fail(l)
			claim := readClaim(t, name)
			if claim.DeletionTimestamp == nil || claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey] == "" {
				t.Errorf("annotations %v, deleted at %v", claim.Annotations, claim.DeletionTimestamp)
			}
			if reasons := server.Reasons(t, name); !reasons["RebootFailed"] || reasons["RebootObserved"] {
				t.Errorf("events %v", reasons)
			}
			l.until(t, "node-"+name, func() bool { return readClaim(t, name) == nil })
			if len(l.ec2.running()) != 0 {
				t.Error("the instance runs on")
			}
		})
	}
}
