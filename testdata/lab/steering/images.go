package steering

import (
	"fmt"
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (s *Service) publishImages(r *http.Request) (any, error) {
	var in struct {
		Version string `json:"version"`
		Release string `json:"release"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	release, err := time.Parse(time.DateOnly, in.Release)
	if err != nil || in.Version == "" {
		return nil, fmt.Errorf("version %q and release %q: want such as 1.36 and 2026-11-20", in.Version, in.Release)
	}
	s.ec2.PublishImages(in.Version, release)
	return done(nil)
}

func (s *Service) registerImage(r *http.Request) (any, error) {
	var in struct {
		Name         string            `json:"name"`
		Family       string            `json:"family"`
		Architecture string            `json:"architecture"`
		Kubernetes   string            `json:"kubernetes"`
		Platform     string            `json:"platform"`
		RootDevice   string            `json:"rootDevice"`
		RootGiB      int               `json:"rootGiB"`
		Tags         map[string]string `json:"tags"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	image := ec2.Image{
		Name: in.Name, Family: in.Family, Architecture: in.Architecture, KubernetesVersion: in.Kubernetes,
		Platform: in.Platform, Tags: in.Tags,
	}
	if in.RootDevice != "" && in.RootGiB > 0 {
		image.Devices = []ec2.ImageDevice{{Name: in.RootDevice, SizeGiB: in.RootGiB}}
	}
	id, err := s.ec2.RegisterImage(image)
	return map[string]string{"id": id}, err
}

func (s *Service) deprecateImage(r *http.Request) (any, error) {
	return done(s.ec2.DeprecateImage(r.PathValue("id"), time.Now()))
}

func (s *Service) deregisterImage(r *http.Request) (any, error) {
	return done(s.ec2.DeregisterImage(r.PathValue("id")))
}
