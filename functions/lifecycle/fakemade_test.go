package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/functions/lifecycle/clustertest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// fakeMade has launch templates and instance profiles in memory.
type fakeMade struct {
	mutex     sync.Mutex
	cut       *clustertest.Cut
	templates map[string]fleet.Template // by id
	profiles  map[string]fakeProfile
	repaired  []string
}

type fakeProfile struct {
	fleet.Profile
	unusedSince time.Time
	foreign     bool // without the cluster's tags
}

func newFakeMade(cut *clustertest.Cut) *fakeMade {
	return &fakeMade{cut: cut, templates: map[string]fleet.Template{}, profiles: map[string]fakeProfile{}}
}

// call locks, and tells whether the call is made.
func (m *fakeMade) call(changes bool) (unlock func(), err error) {
	m.mutex.Lock()
	if m.cut != nil {
		err = m.cut.Call(changes)
	}
	return m.mutex.Unlock, err
}

func (m *fakeMade) LaunchTemplates(context.Context) ([]fleet.Template, error) {
	unlock, err := m.call(false)
	defer unlock()
	var listed []fleet.Template
	for _, id := range slices.Sorted(maps.Keys(m.templates)) {
		listed = append(listed, m.templates[id])
	}
	return listed, err
}

func (m *fakeMade) DeleteLaunchTemplate(_ context.Context, id string) error {
	unlock, err := m.call(true)
	defer unlock()
	if err == nil {
		delete(m.templates, id)
	}
	return err
}

func (m *fakeMade) Profiles(context.Context) ([]fleet.Profile, error) {
	unlock, err := m.call(false)
	defer unlock()
	var listed []fleet.Profile
	for _, name := range slices.Sorted(maps.Keys(m.profiles)) {
		listed = append(listed, m.profiles[name].Profile)
	}
	return listed, err
}

func (m *fakeMade) ProfileName(class *api.EC2NodeClass) string { return "profile-of-" + class.Name }

func (m *fakeMade) RepairProfile(_ context.Context, class *api.EC2NodeClass) error {
	unlock, err := m.call(true)
	defer unlock()
	if err == nil {
		m.repaired = append(m.repaired, class.Name)
	}
	return err
}

func (m *fakeMade) ProfileUnusedSince(_ context.Context, name string) (time.Time, bool, error) {
	unlock, err := m.call(false)
	defer unlock()
	profile, there := m.profiles[name]
	return profile.unusedSince, there && !profile.foreign, err
}

func (m *fakeMade) MarkProfileUnused(_ context.Context, name string, since time.Time) error {
	unlock, err := m.call(true)
	defer unlock()
	if profile, there := m.profiles[name]; there && err == nil {
		profile.unusedSince = since
		m.profiles[name] = profile
	}
	return err
}

func (m *fakeMade) DeleteProfile(_ context.Context, name string) error {
	unlock, err := m.call(true)
	defer unlock()
	if err == nil {
		delete(m.profiles, name)
	}
	return err
}

// left names all that is there.
func (m *fakeMade) left() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(m.templates)), slices.Collect(maps.Keys(m.profiles)))))
}
