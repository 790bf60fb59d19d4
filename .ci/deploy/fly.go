package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// flyFile has the fields of Fly's files that ours use; others are refused.
type flyFile struct {
	App           string            `toml:"app"`
	PrimaryRegion string            `toml:"primary_region"`
	KillSignal    string            `toml:"kill_signal"`
	KillTimeout   string            `toml:"kill_timeout"`
	Env           map[string]string `toml:"env"`
	Processes     map[string]string `toml:"processes"`
	Mounts        struct {
		Source      string `toml:"source"`
		Destination string `toml:"destination"`
	} `toml:"mounts"`
	HTTPService struct {
		Processes          []string `toml:"processes"`
		InternalPort       int      `toml:"internal_port"`
		ForceHTTPS         bool     `toml:"force_https"`
		AutoStopMachines   string   `toml:"auto_stop_machines"`
		MinMachinesRunning int      `toml:"min_machines_running"`
		Concurrency        struct {
			Type      string `toml:"type"`
			SoftLimit int    `toml:"soft_limit"`
			HardLimit int    `toml:"hard_limit"`
		} `toml:"concurrency"`
		Checks []flyCheck `toml:"checks"`
	} `toml:"http_service"`
	Checks  map[string]flyCheck `toml:"checks"`
	Metrics struct {
		Port int    `toml:"port"`
		Path string `toml:"path"`
	} `toml:"metrics"`
	VM []struct {
		CPUKind string `toml:"cpu_kind"`
		CPUs    int    `toml:"cpus"`
		Memory  string `toml:"memory"`
	} `toml:"vm"`
}

type flyCheck struct {
	Type        string   `toml:"type"`
	Processes   []string `toml:"processes"`
	Method      string   `toml:"method"`
	Port        int      `toml:"port"`
	Path        string   `toml:"path"`
	Interval    string   `toml:"interval"`
	Timeout     string   `toml:"timeout"`
	GracePeriod string   `toml:"grace_period"`
}

// fly reads a configuration file of Fly. Secrets are set separately.
func fly(path string) (all found, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return all, err
	}

	var f flyFile
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&f); err != nil {
		return all, err
	}
	grace, err := time.ParseDuration(f.KillTimeout)
	if err != nil {
		return all, err
	}

	groups := f.Processes
	if len(groups) == 0 {
		groups = map[string]string{"app": "serve"} // the image's own
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		p := process{
			Where: path + " " + group, Args: strings.Fields(groups[group]), Env: f.Env, Grace: grace.Seconds(),
			Probes: []probe{{f.Metrics.Port, f.Metrics.Path}}, Writes: []string{"/"},
		}

		has := func(processes []string) bool { return len(processes) == 0 || slices.Contains(processes, group) }
		if has(f.HTTPService.Processes) {
			p.Ports = append(p.Ports, f.HTTPService.InternalPort)
			for _, check := range f.HTTPService.Checks {
				p.Probes = append(p.Probes, probe{f.HTTPService.InternalPort, check.Path})
			}
		}
		for _, check := range f.Checks {
			if has(check.Processes) {
				p.Probes = append(p.Probes, probe{check.Port, check.Path})
			}
		}
		all.Processes = append(all.Processes, p)
	}

	named := slices.Clone(f.HTTPService.Processes)
	for _, check := range f.Checks {
		named = append(named, check.Processes...)
	}
	for _, name := range named {
		if _, ok := groups[name]; !ok {
			return all, fmt.Errorf("there is no process %q", name)
		}
	}
	return all, nil
}
