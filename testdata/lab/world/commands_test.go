package world_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/pagetest"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// follows is how long a command is watched that does not end by itself.
const follows = 5 * time.Second

// commandLine builds the command and returns its path.
func commandLine(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "whittle")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./functions/console/whittle")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return program
}

// commandsOfPages runs each command of the pages that is about a cluster. It puts names of this cluster
// in the place of those that a page invents.
func commandsOfPages(t *testing.T, w *world.World, setup scenario.Setup) {
	pages, err := pagetest.Read(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("NAMESPACE/NAME", shopPod(t, setup.Client), "-cluster prod", "-cluster "+setup.Name,
		"-cluster staging", "-cluster "+setup.Name)
	program, ran := commandLine(t), map[string]bool{}
	for path, text := range pages {
		for _, command := range pagetest.Commands(text, "bin/whittle") {
			if strings.Contains(command, " -f ") || strings.Contains(command, "default/web-0") || ran[command] {
				continue
			}
			if strings.HasPrefix(command, "init ") {
				continue // it prints for kubectl: the installation of a release has it
			}
			if strings.HasPrefix(command, "administrator ") {
				continue // later deployments of this world need the right: a test of its package has it
			}
			if command == "plan" || command == "explain pod" || command == "convert" {
				continue // the name of the command, in a sentence
			}
			if strings.Contains(command, "-watch") {
				continue // it needs a terminal: a test of the command line has one
			}
			ran[command] = true
			if problem := runsOnCluster(t.Context(), w, program, strings.Fields(names.Replace(command))); problem != "" {
				t.Errorf("%s: bin/whittle %s: %s", path, command, problem)
			}
		}
	}
	if len(ran) < 5 {
		t.Errorf("only %d commands were run: does the test still find them?", len(ran))
	}
}

// shopPod creates the Deployment that pages explain, web in the namespace shop, and returns its pod. No
// scheduler places the pod, so that nothing is launched for it.
func shopPod(t *testing.T, client *scenario.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if _, err := client.Core.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	deployment.Spec.Template.Labels = labels
	deployment.Spec.Template.Spec = corev1.PodSpec{
		SchedulerName: "nobody", Containers: []corev1.Container{{Name: "web", Image: "web"}},
	}
	deployments := client.Core.AppsV1().Deployments("shop")
	if _, err := deployments.Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := deployments.Delete(context.WithoutCancel(t.Context()), "web", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for range 600 {
		pods, err := client.Pods(t.Context(), "shop", "app=web")
		if err != nil {
			t.Fatal(err)
		}
		if len(pods) > 0 {
			return pods[0].Namespace + "/" + pods[0].Name
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the Deployment has no pod after a minute")
	return ""
}

// runsOnCluster says why the command fails, if it does. One that follows the cluster is ended.
func runsOnCluster(ctx context.Context, w *world.World, program string, arguments []string) string {
	limit, ends := time.Minute, !slices.Contains(arguments, "-follow")
	if !ends {
		limit = follows
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	arguments = append(arguments, "-kubeconfig", w.ControlPlane.Kubeconfig)
	command := exec.CommandContext(bounded, program, arguments...)
	command.Env = append(os.Environ(), w.Environment()...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Second
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err := command.Run()
	switch {
	case ends && err != nil:
		return err.Error() + "\n" + problems.String()
	case !ends && !errors.Is(bounded.Err(), context.DeadlineExceeded):
		return "it ended by itself: " + problems.String()
	case out.Len() == 0:
		return "it prints nothing: " + problems.String()
	}
	return ""
}
