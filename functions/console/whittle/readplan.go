package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/whittle-dev/whittle/functions/console/instancetypes"
	"github.com/whittle-dev/whittle/functions/console/manifests"
	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/status"
)

// source is where plans are read from: a cluster, or files.
type source struct {
	reader   sight.Reader
	settings sight.Settings
	// table has the instance types; nil for the cluster's catalogue.
	table *instancetypes.Table
	// assumed are DaemonSets that no file has, and that a plan of files counts.
	assumed report.Assumed
	// endpoint is the cluster's, and nil for files. So is client.
	endpoint *cluster.Endpoint
	client   *cluster.Client
}

// read reads what the flags name, except for the objects of a cluster.
func (f *planFlags) read(ctx context.Context, start time.Time, in io.Reader, problems io.Writer) (*source, error) {
	table, err := f.table(ctx, in, start)
	if err != nil {
		return nil, err
	}
	if table != nil && f.reserved != nil {
		table.Reserved(f.reserved)
	}
	from := &source{table: table}
	if len(f.files) > 0 {
		err = from.useFiles(f, in, problems)
	} else {
		err = from.useCluster(ctx, f, problems)
	}
	from.settings.PreferencePolicy, from.settings.MinValuesPolicy = f.policy, f.minValuesPolicy
	from.settings.MaxDollarsPerHour = f.maxDollars
	from.settings.DefaultTopologySpread, from.settings.AllDetails = f.spread, f.allDetails
	if table != nil {
		from.settings.Market = table
	}
	return from, err
}

// useFiles reads the objects from manifests. A file may have objects of every kind, so that the settings
// turn all of them on.
func (s *source) useFiles(f *planFlags, in io.Reader, problems io.Writer) error {
	read, err := manifests.Read(f.files, in)
	if err != nil {
		return err
	}
	for _, warning := range read.Warnings {
		warn(problems, warning)
	}
	if f.strict && len(read.Warnings) > 0 {
		return fmt.Errorf("-strict: %d warnings are errors", len(read.Warnings))
	}
	if f.verbose {
		for _, skipped := range read.Skipped {
			warn(problems, skipped)
		}
	}
	if f.daemonSets != daemonSetsFiles {
		s.assumed.DaemonSets, s.assumed.Requests = read.AddEKS()
	}
	s.settings.CapacityBuffers, s.settings.ProvisioningRequests = true, true
	s.reader = &sight.Given{
		Known: read.Objects, Groups: read.PodGroups, Buffers: read.Buffers, Requests: read.Requests,
		Quotas: read.Quotas, Spreads: read.Selectors, Template: read.Template,
	}
	return nil
}

// useCluster connects to the cluster, and takes the settings that its deployment tells.
func (s *source) useCluster(ctx context.Context, f *planFlags, problems io.Writer) error {
	client, err := f.connect()
	if err != nil {
		return err
	}
	s.endpoint, s.client = &client.Endpoint, client
	s.reader = person{sight.Cluster{Client: client}}
	shown, err := status.Read(ctx, client)
	if err != nil && !cluster.IsForbidden(err) { // a person's rights may not include it
		return s.mend(err)
	}
	s.settings = sight.SettingsOf(shown.Deployment)
	f.follow(shown.Deployment, problems)
	return nil
}

// mend adds to an error of a cluster what a person can do.
func (s *source) mend(err error) error {
	if s.endpoint == nil {
		return err
	}
	return mend(objects.Installed(err), *s.endpoint)
}

// warn says what the view does without.
func (s *source) warn(view *sight.View, problems io.Writer) {
	if view.Incomplete != nil {
		warn(problems, oneLine(view.Incomplete))
	}
	for _, overlay := range view.Offer.Problems {
		warn(problems, fmt.Sprintf("nodeoverlay %q counts for nothing: %s", overlay.Overlay, overlay.Message))
	}
	if s.table != nil {
		for _, gap := range s.table.Gaps(view.Objects) {
			warn(problems, gap)
		}
	}
	for i := range view.Objects.NodePools {
		if err := view.Objects.NodePools[i].PriceErrors(); err != nil {
			warn(problems, err.Error())
		}
		if problem := view.Objects.NodePools[i].HoursProblem(); problem != "" {
			warn(problems, oneLine(errors.New(problem)))
		}
	}
}

// prices says where the prices come from. facts is the cluster's catalogue.
func (s *source) prices(facts *catalog.Catalog, now time.Time) string {
	if s.table != nil {
		return s.table.Prices
	}
	return "the cluster's catalogue; " + facts.PriceAges(now)
}

// person reads with a person's rights, which may be those of an older installation.
type person struct{ sight.Cluster }

// Misfits are none where the person may not read them.
func (p person) Misfits(ctx context.Context) (map[string]misfit.Misfit, error) {
	misfits, err := p.Cluster.Misfits(ctx)
	if cluster.IsForbidden(err) {
		return nil, nil
	}
	return misfits, err
}
