package kubelet_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

func probe(change func(*corev1.Probe)) *corev1.Probe {
	p := &corev1.Probe{PeriodSeconds: 5, FailureThreshold: 2}
	change(p)
	return p
}

func TestStories(t *testing.T) {
	plain := func(*corev1.Probe) {}
	for _, test := range []struct {
		name  string
		pod   *corev1.Pod
		acts  []act
		until time.Duration
		want  []string
	}{{
		name: "a pod runs, and stops when it is deleted", pod: pod("p"), acts: []act{deleted(10*second, 30)},
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "11s Succeeded main:exit0", "11s gone",
		},
	}, {
		name: "an image that is not there is pulled", pod: pod("p", annotated("image-size", "640Mi")),
		want: []string{
			"0s Pending main:ContainerCreating", "1s Pending main:ContainerCreating", "11s Running ready main:runs",
		},
	}, {
		name: "a pod is ready after its readiness probe, which begins after its delay",
		pod: pod("p", annotated("ready-after", "11s"), with(func(c *corev1.Container) {
			c.ReadinessProbe = probe(func(p *corev1.Probe) { p.InitialDelaySeconds = 3 })
		})),
		want: []string{"0s Pending main:ContainerCreating", "1s Running main:runs", "14s Running ready main:runs"},
	}, {
		name: "a readiness probe that fails as often as its threshold makes the pod unready, and nothing restarts",
		pod: pod("p", annotated("unhealthy-after", "12s"), with(func(c *corev1.Container) {
			c.ReadinessProbe = probe(plain)
		})),
		until: 100 * second,
		want:  []string{"0s Pending main:ContainerCreating", "1s Running ready main:runs", "21s Running main:runs"},
	}, {
		name: "a liveness probe that fails restarts the container after SIGTERM",
		pod: pod("p", annotated("unhealthy-after", "12s"), with(func(c *corev1.Container) {
			c.LivenessProbe = probe(plain)
		})),
		until: 30 * second,
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "22s Running ready main:runs#1",
		},
	}, {
		name: "a startup probe keeps the liveness probe from a container that starts slowly",
		pod: pod("p", annotated("alive-after", "40s"), with(func(c *corev1.Container) {
			c.LivenessProbe = probe(plain)
			c.StartupProbe = probe(func(p *corev1.Probe) { p.FailureThreshold = 30 })
		})),
		want: []string{"0s Pending main:ContainerCreating", "1s Running main:runs", "41s Running ready main:runs"},
	}, {
		name: "without a startup probe it never comes up",
		pod: pod("p", annotated("alive-after", "40s"), with(func(c *corev1.Container) {
			c.LivenessProbe = probe(plain)
		})),
		until: 20 * second,
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "7s Running ready main:runs#1",
			"13s Running main:CrashLoopBackOff#1",
		},
	}, {
		name: "a startup probe that never succeeds restarts the container",
		pod: pod("p", annotated("alive-after", "1h"), with(func(c *corev1.Container) {
			c.StartupProbe = probe(plain)
		})),
		until: 10 * second,
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running main:runs", "7s Running main:runs#1",
		},
	}, {
		name:  "a container that ends restarts at once, then after 10 s, 20 s, 40 s, up to 300 s",
		pod:   pod("p", annotated("run-for", "1s", "exit-code", "1")),
		until: 900 * second,
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "2s Running ready main:runs#1",
			"3s Running main:CrashLoopBackOff#1", "13s Running ready main:runs#2",
			"14s Running main:CrashLoopBackOff#2", "34s Running ready main:runs#3",
			"35s Running main:CrashLoopBackOff#3", "1m15s Running ready main:runs#4",
			"1m16s Running main:CrashLoopBackOff#4", "2m36s Running ready main:runs#5",
			"2m37s Running main:CrashLoopBackOff#5", "5m17s Running ready main:runs#6",
			"5m18s Running main:CrashLoopBackOff#6", "10m18s Running ready main:runs#7",
			"10m19s Running main:CrashLoopBackOff#7",
		},
	}, {
		name:  "ten minutes without an end reset the delay",
		pod:   pod("p", annotated("run-for", "10m", "exit-code", "1")),
		until: 25 * time.Minute,
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "10m1s Running ready main:runs#1",
			"20m1s Running ready main:runs#2",
		},
	}, {
		name: "a job succeeds", pod: pod("p", annotated("run-for", "5s"), policy(corev1.RestartPolicyNever)),
		want: []string{"0s Pending main:ContainerCreating", "1s Running ready main:runs", "6s Succeeded main:exit0"},
	}, {
		name: "a job that never restarts fails",
		pod:  pod("p", annotated("run-for", "5s", "exit-code", "3"), policy(corev1.RestartPolicyNever)),
		want: []string{"0s Pending main:ContainerCreating", "1s Running ready main:runs", "6s Failed main:exit3"},
	}, {
		name: "a job that restarts on failure succeeds in its third run",
		pod:  pod("p", annotated("run-for", "5s", "exit-code", "1,1,0"), policy(corev1.RestartPolicyOnFailure)),
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "6s Running ready main:runs#1",
			"11s Running main:CrashLoopBackOff#1", "21s Running ready main:runs#2", "26s Succeeded main:exit0#2",
		},
	}, {
		name: "a job that is stopped in the middle of its work fails",
		pod:  pod("p", annotated("run-for", "50s"), policy(corev1.RestartPolicyNever)), acts: []act{deleted(10*second, 30)},
		want: []string{
			"0s Pending main:ContainerCreating", "1s Running ready main:runs", "11s Failed main:exit143", "11s gone",
		},
	}, {
		name: "init containers run one after the other",
		pod:  pod("p", initially("a"), initially("b"), annotated("run-for.a", "5s", "run-for.b", "7s")),
		want: []string{
			"0s Pending a:PodInitializing b:PodInitializing main:PodInitializing",
			"1s Pending a:runs b:PodInitializing main:PodInitializing",
			"6s Pending a:exit0 b:runs main:PodInitializing", "13s Running ready a:exit0 b:exit0 main:runs",
		},
	}, {
		name: "an init container that fails fails a pod that never restarts",
		pod: pod("p", initially("a"), policy(corev1.RestartPolicyNever),
			annotated("run-for.a", "5s", "exit-code.a", "1")),
		want: []string{
			"0s Pending a:PodInitializing main:PodInitializing", "1s Pending a:runs main:PodInitializing",
			"6s Failed a:exit1 main:PodInitializing",
		},
	}, {
		name: "an init container that fails runs again otherwise",
		pod:  pod("p", initially("a"), annotated("run-for.a", "5s", "exit-code.a", "1,0")),
		want: []string{
			"0s Pending a:PodInitializing main:PodInitializing", "1s Pending a:runs main:PodInitializing",
			"6s Pending a:runs#1 main:PodInitializing", "11s Running ready a:exit0#1 main:runs",
		},
	}, {
		name: "what follows a sidecar waits for its startup probe, and the pod's readiness for its readiness probe",
		pod: pod("p", initially("side", func(c *corev1.Container) {
			c.StartupProbe, c.ReadinessProbe = probe(plain), probe(plain)
		}), annotated("alive-after.side", "3s", "ready-after.side", "15s")),
		want: []string{
			"0s Pending side:PodInitializing main:PodInitializing", "1s Pending side:runs main:PodInitializing",
			"6s Running side:runs main:runs", "16s Running ready side:runs main:runs",
		},
	}, {
		name: "a job's sidecar ends after it, and does not count",
		pod: pod("p", initially("side"), policy(corev1.RestartPolicyNever), grace(9),
			annotated("run-for", "5s", "stop-for.side", "never")),
		want: []string{
			"0s Pending side:PodInitializing main:PodInitializing", "1s Running ready side:runs main:runs",
			"6s Running side:runs main:exit0", "15s Succeeded side:exit137 main:exit0",
		},
	}, {
		name:  "a sidecar restarts, whatever the pod's policy",
		pod:   pod("p", initially("side"), policy(corev1.RestartPolicyNever), annotated("run-for.side", "5s")),
		until: 8 * second,
		want: []string{
			"0s Pending side:PodInitializing main:PodInitializing", "1s Running ready side:runs main:runs",
			"6s Running ready side:runs#1 main:runs",
		},
	}, {
		name: "a pod that is deleted before it runs is gone when the kubelet sees it",
		pod:  pod("p"), acts: []act{deleted(0, 30)},
		want: []string{"0s Failed main:ContainerCreating", "0s gone"},
	}, {
		name: "a pod that is deleted while it pulls its image is gone at once",
		pod:  pod("p", annotated("image-size", "64Gi")), acts: []act{deleted(9*second, 30)},
		want: []string{
			"0s Pending main:ContainerCreating", "1s Pending main:ContainerCreating", "9s Failed main:ContainerCreating",
			"9s gone",
		},
	}} {
		t.Run(test.name, func(t *testing.T) {
			until := test.until
			if until == 0 {
				until = time.Hour
			}
			compare(t, story(kubelet.New(), test.pod, until, test.acts...), test.want)
		})
	}
}

// TestStopping has when a pod is gone that is deleted 10 s after it was seen.
func TestStopping(t *testing.T) {
	ignores := annotated("stop-for", "never")
	for _, test := range []struct {
		name  string
		pod   *corev1.Pod
		grace int64
		acts  []act
		exit  int32
		gone  time.Duration
	}{
		{name: "SIGTERM ends it", pod: pod("p"), grace: 30, gone: 1 * second},
		{name: "one that ignores SIGTERM has its whole grace", pod: pod("p", ignores),
			grace: 30, gone: 30 * second, exit: 137},
		{name: "what counts is the grace of the deletion, and not the pod's own", pod: pod("p", ignores, grace(600)),
			grace: 7,
			gone:  7 * second, exit: 137},
		{name: "a grace of zero is one second, and SIGTERM has two", pod: pod("p", ignores),
			grace: 0, gone: 2 * second, exit: 137},
		{name: "a preStop hook comes before SIGTERM", pod: pod("p", with(hook("sleep", "12"))), grace: 30, gone: 13 * second},
		{name: "a hook in a shell", pod: pod("p", with(hook("sh", "-c", "sleep 12"))), grace: 30, gone: 13 * second},
		{name: "a hook of several sleeps", pod: pod("p", with(hook("/bin/sh", "-c", "nginx -s quit; sleep 5 && sleep 0.1m"))),
			grace: 30, gone: 12 * second},
		{name: "a hook of the action sleep", pod: pod("p", with(sleep(12))), grace: 30, gone: 13 * second},
		{name: "a hook that does not sleep", pod: pod("p", with(hook("nginx", "-s", "quit"))), grace: 30, gone: 1 * second},
		{name: "the hook counts within the grace", pod: pod("p", with(sleep(12)), ignores),
			grace: 30, gone: 30 * second, exit: 137},
		{name: "a hook that takes longer than the grace leaves two seconds", pod: pod("p", with(sleep(60)), ignores),
			grace: 30,
			gone:  32 * second, exit: 137},
		{name: "a hook that takes longer than the grace, and a container that ends", pod: pod("p", with(sleep(60))),
			grace: 30,
			gone:  31 * second},
		{name: "a deletion with a shorter grace counts from then", pod: pod("p", ignores), grace: 600,
			acts: []act{deleted(110*second, 20)}, gone: 120 * second, exit: 137},
		{name: "a deletion with a longer grace changes nothing", pod: pod("p", ignores), grace: 30,
			acts: []act{deleted(20*second, 600)}, gone: 30 * second, exit: 137},
		{name: "a shorter grace cuts the hook", pod: pod("p", with(sleep(300))), grace: 600,
			acts: []act{deleted(30*second, 1)}, gone: 22 * second},
		{name: "sidecars stop after the others, the last one first",
			pod: pod("p", initially("side1"), initially("side2"),
				annotated("stop-for", "5s", "stop-for.side1", "3s", "stop-for.side2", "4s")),
			grace: 30, gone: 12 * second},
		{name: "sidecars have no time of their own",
			pod:   pod("p", initially("side"), ignores, annotated("stop-for.side", "never")),
			grace: 30, gone: 32 * second, exit: 137},
		{name: "a liveness probe stops nothing that is being deleted",
			pod: pod("p", annotated("unhealthy-after", "11s"), ignores, with(func(c *corev1.Container) {
				c.LivenessProbe = probe(func(*corev1.Probe) {})
			}), grace(5)), grace: 60, gone: 60 * second, exit: 137},
	} {
		t.Run(test.name, func(t *testing.T) {
			var last *corev1.ContainerStateTerminated
			k, p := kubelet.New(), test.pod
			acts := append([]act{deleted(10*second, test.grace)}, test.acts...)
			k.Look(p, moment(0))
			gone := time.Duration(-1)
			for now := 10 * second; now < 20*time.Minute && gone < 0; now += second {
				for len(acts) > 0 && acts[0].at <= now {
					acts[0].do(p)
					acts = acts[1:]
				}
				v := k.Look(p, moment(now))
				if v.Status != nil && v.Status.ContainerStatuses[0].State.Terminated != nil {
					last = v.Status.ContainerStatuses[0].State.Terminated
				}
				if v.Gone {
					gone = now - 10*second
				}
			}
			if gone != test.gone || last == nil || last.ExitCode != test.exit {
				t.Errorf("the pod is gone after %s as %+v, want %s and exit code %d", gone, last, test.gone, test.exit)
			}
		})
	}
}
