package nodeclass

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// FuzzUserData: whatever the user's own user data is, there is either an error
// that names the field, or the node is told its cluster, and the same bytes come
// of it each time.
func FuzzUserData(f *testing.F) {
	for _, own := range []string{
		"", ownScript, ownMIME, ownTOML, ownPowerShell, "settings = 1",
		"[settings.kubernetes.node-labels]\na = [1]",
		"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"\x00\"\n\n--", "--//\n\n--//--",
	} {
		f.Add(own)
	}
	f.Fuzz(func(t *testing.T, own string) {
		for _, name := range []string{
			api.AMIFamilyAL2, api.AMIFamilyAL2023, api.AMIFamilyBottlerocket, api.AMIFamilyWindows2022,
		} {
			data, err := UserData(class(own, family(name)), join())
			if err != nil {
				if !strings.Contains(err.Error(), "spec.userData: ") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if again, err := UserData(class(own, family(name)), join()); err != nil || again != data {
				t.Errorf("%s: not the same again: %v", name, err)
			}
			if !strings.Contains(data, "https://api.example") {
				t.Errorf("%s: the node is not told its cluster", name)
			}
			if name == api.AMIFamilyBottlerocket {
				var read struct {
					Settings struct {
						Kubernetes struct {
							ClusterName string `toml:"cluster-name"`
						}
					}
				}
				if err := toml.Unmarshal([]byte(data), &read); err != nil || read.Settings.Kubernetes.ClusterName != "prod" {
					t.Errorf("the TOML cannot be read again: %+v, %v\n%s", read, err, data)
				}
			}
		}
	})
}
