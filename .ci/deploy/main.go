// Command deploy reads the deployment files of the repository: kustomizations (folders), the values of a Helm chart
// (-values.yaml in its folder ci), compose files (other .yaml) and Fly's configuration (.toml). It fails on everything that Kubernetes, Compose or the deployed processes would
// refuse. It prints the processes as JSON, for a test to compare.
//
//	go run -modfile=.ci/deploy.mod ./.ci/deploy FOLDER|FILE...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// found is the output: the processes that the deployment files start, and the connections between them.
type found struct {
	Processes []process
	Reach     []reach
}

// process is one way in which the program is started.
type process struct {
	Where   string // the file or folder, and the name in it
	Args    []string
	Env     map[string]string
	Secrets []string // variables whose values are elsewhere
	Ports   []int    // that are declared
	Probes  []probe
	Grace   float64 // seconds between the signal and the end
	Writes  []string
	// Rolls is true if the next process is ready before this one is stopped. Inside lists the ports that it may
	// reach at private addresses, and Room is the size of the folder on the node's disk, in bytes.
	Rolls  bool
	Inside []int
	Room   map[string]int64
}

// probe is a port and a path that are asked for.
type probe struct {
	Port int
	Path string
}

// reach is a block of addresses that a process may connect to, on any port.
type reach struct {
	Where  string
	CIDR   string
	Except []string
}

func main() {
	var all found
	var failed error
	for _, file := range os.Args[1:] {
		read := compose
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			read = kubernetes
		} else if strings.HasSuffix(file, "-values.yaml") {
			read = helm
		} else if filepath.Ext(file) == ".toml" {
			read = fly
		}
		one, err := read(file)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", file, err))
			continue
		}

		all.Processes = append(all.Processes, one.Processes...)
		all.Reach = append(all.Reach, one.Reach...)
	}

	if failed == nil {
		failed = json.NewEncoder(os.Stdout).Encode(all)
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

// ours reports whether an image is relaypdf's own.
func ours(image string) bool {
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name == "relaypdf"
}
