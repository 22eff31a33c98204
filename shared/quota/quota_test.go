package quota_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/quota"
)

func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func quotaOf(hard, used corev1.ResourceList) corev1.ResourceQuota {
	return corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: hard}, Status: corev1.ResourceQuotaStatus{Hard: hard, Used: used},
	}
}

func pod(namespace string, requests corev1.ResourceList) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	made.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}
	return made
}

// TestTake asks for ten pods of one core, one GiB and one GPU.
func TestTake(t *testing.T) {
	for _, test := range []struct {
		name  string
		quota corev1.ResourceQuota
		of    string
		want  int
	}{
		{"pods", quotaOf(amounts("pods", "10"), amounts("pods", "7")), "team", 3},
		{"pods by count", quotaOf(amounts("count/pods", "4"), nil), "team", 4},
		{"cpu", quotaOf(amounts("cpu", "5500m"), amounts("cpu", "500m")), "team", 5},
		{"requested cpu", quotaOf(amounts("requests.cpu", "5900m"), nil), "team", 5},
		{"devices", quotaOf(amounts("requests.nvidia.com/gpu", "2"), nil), "team", 2},
		{"the least of all", quotaOf(amounts("pods", "8", "requests.memory", "6Gi"), nil), "team", 6},
		{"used up", quotaOf(amounts("pods", "3"), amounts("pods", "5")), "team", 0},
		{"other things", quotaOf(amounts("services", "0", "requests.storage", "0", "limits.cpu", "0"), nil), "team", 10},
		{"another namespace", quotaOf(amounts("pods", "0"), nil), "other", 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			room := quota.New([]corev1.ResourceQuota{test.quota})
			of := pod(test.of, amounts("cpu", "1", "memory", "1Gi", "nvidia.com/gpu", "1"))
			got, by := room.Take(&of, 10)
			if got != test.want || (by == "q") != (got < 10) {
				t.Errorf("room for %d, by %q, want %d", got, by, test.want)
			}
			if again, _ := room.Take(&of, 10); test.want < 10 && again != 0 {
				t.Errorf("room for %d more", again)
			}
		})
	}
}

func TestQuotasWithScopesAreForOthers(t *testing.T) {
	scoped := quotaOf(amounts("pods", "0"), nil)
	scoped.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	of := pod("team", amounts("cpu", "1"))
	if got, _ := quota.New([]corev1.ResourceQuota{scoped}).Take(&of, 2); got != 2 {
		t.Errorf("room for %d", got)
	}
}

func TestTakeAll(t *testing.T) {
	room := quota.New([]corev1.ResourceQuota{quotaOf(amounts("cpu", "5"), nil)})
	small, large := pod("team", amounts("cpu", "1")), pod("team", amounts("cpu", "4"))
	if by := room.TakeAll([]corev1.Pod{small, small, large}); by != "q" {
		t.Errorf("room for six cores, by %q", by)
	}
	if by := room.TakeAll([]corev1.Pod{small, large}); by != "" {
		t.Errorf("no room for five cores, by %q", by)
	}
	if by := room.TakeAll([]corev1.Pod{small}); by != "q" {
		t.Errorf("room for a sixth core, by %q", by)
	}
	if by := room.TakeAll(nil); by != "" {
		t.Errorf("no room for nothing, by %q", by)
	}
}
