package api

import (
	"encoding/json"
	"testing"
)

// FuzzKubeletConfiguration looks for settings that do not survive being read and
// written twice.
func FuzzKubeletConfiguration(f *testing.F) {
	f.Add([]byte(`{"maxPods":20,"clusterDNS":["10.0.0.10"],"evictionSoftGracePeriod":{"memory.available":"1m0s"}}`))
	f.Add([]byte(`{"maxPods":"max_pods - 1","registryPullQPS":10,"MAXPODS":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var kubelet, again KubeletConfiguration
		if json.Unmarshal(text, &kubelet) != nil {
			return
		}
		once, err := json.Marshal(kubelet)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%v in %s", err, once)
		}
		twice, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(once) != string(twice) {
			t.Errorf("%s was written as %s and then as %s", text, once, twice)
		}
		class := EC2NodeClass{Spec: EC2NodeClassSpec{Kubelet: &kubelet}}
		if class.Validate() == nil {
			t.Error("a class without a role validates")
		}
	})
}

// FuzzNillableDuration looks for durations that do not survive being read and written.
func FuzzNillableDuration(f *testing.F) {
	for _, seed := range []string{`"720h"`, `"Never"`, `null`, `"-1.5h"`, `""`, `0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d, again NillableDuration
		if json.Unmarshal(text, &d) != nil {
			return
		}
		written, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%v in %s", err, written)
		}
		if d.String() != again.String() || d.IsNever() != again.IsNever() || d.IsZero() != again.IsZero() {
			t.Errorf("%s was read as %v and then as %v", text, d, again)
		}
	})
}
