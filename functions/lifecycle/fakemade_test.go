package lifecycle

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclass"
	"github.com/whittle-dev/whittle/shared/api"
)

// fakeMade has launch templates and instance profiles in memory.
type fakeMade struct {
	mutex     sync.Mutex
	templates map[string]nodeclass.Template // by id
	profiles  map[string]fakeProfile
	iam       error // the answer to the list of profiles
}

type fakeProfile struct {
	nodeclass.Profile
	unusedSince time.Time
	foreign     bool // without the cluster's tags
}

func newFakeMade() *fakeMade {
	return &fakeMade{templates: map[string]nodeclass.Template{}, profiles: map[string]fakeProfile{}}
}

func (m *fakeMade) LaunchTemplates(context.Context) ([]nodeclass.Template, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var listed []nodeclass.Template
	for _, id := range slices.Sorted(maps.Keys(m.templates)) {
		listed = append(listed, m.templates[id])
	}
	return listed, nil
}

func (m *fakeMade) DeleteLaunchTemplate(_ context.Context, id string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.templates, id)
	return nil
}

func (m *fakeMade) Profiles(context.Context) ([]nodeclass.Profile, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var listed []nodeclass.Profile
	for _, name := range slices.Sorted(maps.Keys(m.profiles)) {
		listed = append(listed, m.profiles[name].Profile)
	}
	if m.iam != nil {
		return nil, m.iam
	}
	return listed, nil
}

func (m *fakeMade) ProfileName(class *api.EC2NodeClass) string { return "profile-of-" + class.Name }

func (m *fakeMade) ProfileUnusedSince(_ context.Context, name string) (time.Time, bool, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	profile, there := m.profiles[name]
	return profile.unusedSince, there && !profile.foreign, nil
}

func (m *fakeMade) MarkProfileUnused(_ context.Context, name string, since time.Time) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if profile, there := m.profiles[name]; there {
		profile.unusedSince = since
		m.profiles[name] = profile
	}
	return nil
}

func (m *fakeMade) DeleteProfile(_ context.Context, name string) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.profiles, name)
	return nil
}

// left lists the names of everything that exists.
func (m *fakeMade) left() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(m.templates)),
		slices.Collect(maps.Keys(m.profiles)))))
}
