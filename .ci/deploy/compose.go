package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// given holds the environment variables that the files require.
var given = types.Mapping{
	"RELAYPDF_SECRET_KEY": strings.Repeat("k", 44), "POSTGRES_PASSWORD": "p", "S3_ACCESS_KEY": "a",
	"S3_SECRET_KEY": "s",
}

// compose loads a compose file, which its schema has to allow, by Compose's own code.
func compose(path string) (all found, err error) {
	project, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path}}, Environment: given,
	}, func(o *loader.Options) { o.SetProjectName("relaypdf", true) })
	if err != nil {
		return all, err
	}

	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		service := project.Services[name]
		if !ours(service.Image) || len(service.Entrypoint) > 0 {
			continue // another program
		}
		if !service.ReadOnly || !slices.Contains(service.CapDrop, "ALL") ||
			!slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			err = errors.Join(err, fmt.Errorf("%s may write anywhere, keeps capabilities or gains privileges", name))
		}

		p := process{Where: path + " " + name, Args: service.Command, Env: map[string]string{}}
		if len(p.Args) == 0 {
			p.Args = []string{"serve"} // the image's own
		}

		for variable, value := range service.Environment {
			if value == nil {
				err = errors.Join(err, fmt.Errorf("%s: %s has no value", name, variable))
				continue
			}
			p.Env[variable] = *value
		}

		for _, port := range service.Ports {
			p.Ports = append(p.Ports, int(port.Target))
		}
		if service.StopGracePeriod != nil {
			p.Grace = float64(*service.StopGracePeriod) / 1e9
		}
		for _, volume := range service.Volumes {
			p.Writes = append(p.Writes, volume.Target)
		}
		for _, mount := range service.Tmpfs {
			target, _, _ := strings.Cut(mount, ":")
			p.Writes = append(p.Writes, target)
		}

		all.Processes = append(all.Processes, p)
	}
	return all, err
}
