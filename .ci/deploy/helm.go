package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// overlays are the kustomizations that a chart's values files must be equal to.
var overlays = map[string]string{
	"one-values.yaml":     "deploy/kubernetes/overlays/one",
	"cluster-values.yaml": "deploy/kubernetes/overlays/cluster",
}

// helm lints a chart and renders it as `helm template relaypdf` does, with the values of a file in its folder `ci`. The
// objects must be those of the kustomization in overlays.
func helm(file string) (all found, err error) {
	folder := filepath.Dir(filepath.Dir(file))
	values, err := common.ReadValuesFile(file)
	if err != nil {
		return all, err
	}

	for _, message := range lint.RunAll(folder, values, "default").Messages {
		if message.Severity >= support.WarningSev {
			err = errors.Join(err, message.Err)
		}
	}
	if err != nil {
		return all, err
	}

	objects, err := template(folder, values)
	if err != nil {
		return all, err
	}
	kustomized, err := kustomize(overlays[filepath.Base(file)])
	if err != nil {
		return all, err
	}
	if err := compare(objects, kustomized); err != nil {
		return all, err
	}
	return processes(file, objects)
}

func template(folder string, values common.Values) (objects [][]byte, err error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "relaypdf", Namespace: "relaypdf", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}

	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for _, text := range strings.Split(files[name], "\n---\n") {
			if strings.TrimSpace(text) != "" {
				objects = append(objects, []byte(text))
			}
		}
	}
	return objects, nil
}

// compare returns an error for each object that only one of the two has, and for the first difference in each of the
// others.
func compare(chart, kustomized [][]byte) (err error) {
	ours, err := named(chart)
	if err != nil {
		return err
	}
	theirs, err := named(kustomized)
	if err != nil {
		return err
	}

	all := maps.Clone(ours)
	maps.Copy(all, theirs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		err = errors.Join(err, difference(name, ours[name], theirs[name]))
	}
	return err
}

// named returns the objects by kind and name, without the labels of the objects themselves.
func named(objects [][]byte) (map[string]any, error) {
	all := map[string]any{}
	for _, text := range objects {
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, err
		}

		about, _ := object["metadata"].(map[string]any)
		delete(about, "labels")
		plain := withoutOwn(object)
		about, _ = plain.(map[string]any)["metadata"].(map[string]any)
		all[fmt.Sprint(object["kind"], " ", about["name"])] = plain
	}
	return all, nil
}

var (
	helmsOwn = regexp.MustCompile(`^(app\.kubernetes\.io/(instance|version|managed-by)|helm\.sh/.+|checksum/settings|image)$`)
	hashed   = regexp.MustCompile(`^(relaypdf)-[a-z0-9]{10}$`)
)

// withoutOwn returns a value without what may differ: the labels and annotations that Helm sets, the origin of the image,
// and the hash in the name of a ConfigMap.
func withoutOwn(value any) any {
	switch value := value.(type) {
	case map[string]any:
		plain := map[string]any{}
		for key, one := range value {
			one = withoutOwn(one)
			if inner, ok := one.(map[string]any); helmsOwn.MatchString(key) || ok && len(inner) == 0 {
				continue
			}
			plain[key] = one
		}
		return plain
	case []any:
		plain := make([]any, len(value))
		for i, one := range value {
			plain[i] = withoutOwn(one)
		}
		return plain
	case string:
		return hashed.ReplaceAllString(value, "$1")
	}
	return value
}

// difference returns an error with the place of the first difference.
func difference(where string, chart, kustomized any) error {
	switch ours := chart.(type) {
	case map[string]any:
		theirs, ok := kustomized.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(ours)
		maps.Copy(keys, theirs)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if err := difference(where+"."+key, ours[key], theirs[key]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		theirs, ok := kustomized.([]any)
		if !ok || len(ours) != len(theirs) {
			break
		}
		for i := range ours {
			if err := difference(fmt.Sprintf("%s[%d]", where, i), ours[i], theirs[i]); err != nil {
				return err
			}
		}
		return nil
	}

	if reflect.DeepEqual(chart, kustomized) {
		return nil
	}
	return fmt.Errorf("%s: the chart has %v, the kustomization %v", where, chart, kustomized)
}
