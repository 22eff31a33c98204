package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/report"
)

const explainUsage = "whittle explain: want pod NAMESPACE/NAME, such as: whittle explain pod default/web-0 -f FILE"

// explain says why a pod has its place, or none.
func explain(
	ctx context.Context, arguments []string, now func() time.Time, in io.Reader, out, problems io.Writer,
) error {
	flags, err := parsePlanFlags("explain", 2, arguments, problems)
	if err != nil {
		return err
	}
	if len(flags.words) != 2 || strings.TrimSuffix(flags.words[0], "s") != "pod" {
		return usageProblem(problems, explainUsage)
	}
	namespace, name, ok := strings.Cut(flags.words[1], "/")
	if !ok {
		namespace, name = metav1.NamespaceDefault, namespace
	}
	if namespace == "" || name == "" {
		return usageProblem(problems, explainUsage)
	}
	made, err := flags.plan(ctx, now, in, problems)
	if err != nil {
		return err
	}
	explanation := report.Explain(namespace, name, made.objects.Pods, made.snapshot, made.plan)
	if explanation == nil {
		return fmt.Errorf("there is no pod %s/%s%s", namespace, name, near(name, made))
	}
	if isForPrograms(flags.output) {
		return write(out, flags.output, explanation)
	}
	return explanation.WriteText(out, styleOf(out))
}

// near suggests pods with a similar name.
func near(name string, made *planned) string {
	var names []string
	for i := range made.objects.Pods {
		pod := &made.objects.Pods[i]
		if pod.Name == name || strings.HasPrefix(pod.Name, name+"-") || strings.HasPrefix(name, pod.Name+"-") {
			if names = append(names, pod.Namespace+"/"+pod.Name); len(names) == maximumNear {
				break
			}
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf(" among the %d pods", len(made.objects.Pods))
	}
	return ": did you mean " + strings.Join(names, " or ") + "?"
}

// maximumNear is the number of suggestions.
const maximumNear = 3
