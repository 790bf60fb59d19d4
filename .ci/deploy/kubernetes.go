package main

import (
	"errors"
	"fmt"
	"slices"

	apps "k8s.io/api/apps/v1"
	scaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// cluster holds the objects of a kustomization.
type cluster struct {
	pods     []pod
	services []*core.Service
	policies []*networking.NetworkPolicy
	budgets  []*policy.PodDisruptionBudget
	ingress  []*networking.Ingress
	scales   []*scaling.HorizontalPodAutoscaler
	configs  map[string]map[string]string
	claims   []string
}

// pod is the pod template of a workload.
type pod struct {
	where string
	kind  string // of the workload
	name  string // the workload's
	// fixed is true if the workload sets the number of pods. rolls is true if a new pod is ready before an old one
	// stops.
	fixed, rolls bool
	meta.LabelSelector
	core.PodTemplateSpec
}

// kubernetes reads the objects of a kustomization.
func kubernetes(folder string) (all found, err error) {
	objects, err := kustomize(folder)
	if err != nil {
		return all, err
	}
	return processes(folder, objects)
}

// kustomize returns the objects of a kustomization, as YAML.
func kustomize(folder string) (objects [][]byte, err error) {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}

	for _, resource := range made.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", resource.GetKind(), resource.GetName(), err)
		}
		objects = append(objects, text)
	}
	return objects, nil
}

// processes decodes objects with the types of Kubernetes, and returns the processes that they start. Unknown fields and
// broken references are errors.
func processes(folder string, objects [][]byte) (all found, err error) {
	c := cluster{configs: map[string]map[string]string{}}
	for _, text := range objects {
		var about meta.PartialObjectMetadata
		err := yaml.Unmarshal(text, &about)
		if err == nil {
			err = c.add(folder, about.APIVersion+" "+about.Kind, text)
		}
		if err != nil {
			return all, fmt.Errorf("%s %s: %w", about.Kind, about.Name, err)
		}
	}

	if err := c.check(); err != nil {
		return all, err
	}

	for _, p := range c.pods {
		for _, container := range p.Spec.Containers {
			if !ours(container.Image) || len(container.Command) > 0 {
				continue // another program
			}
			one, err := c.process(p, container)
			if err != nil {
				return all, fmt.Errorf("%s: %w", p.where, err)
			}
			all.Processes = append(all.Processes, one)
		}
	}

	for _, policy := range c.policies {
		for _, rule := range policy.Spec.Egress {
			for _, to := range rule.To {
				if to.IPBlock != nil && len(rule.Ports) == 0 {
					all.Reach = append(all.Reach, reach{folder + " " + policy.Name, to.IPBlock.CIDR, to.IPBlock.Except})
				}
			}
		}
	}
	return all, nil
}

// strict decodes an object as the API server does, and fails where the server would warn.
func strict[T any](text []byte) (*T, error) {
	object := new(T)
	text, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return object, err
	}
	warnings, err := kjson.UnmarshalStrict(text, object)
	return object, errors.Join(append(warnings, err)...)
}

// keep adds a decoded object to a list.
func keep[T any](list *[]*T, text []byte) error {
	object, err := strict[T](text)
	*list = append(*list, object)
	return err
}

func (c *cluster) add(folder, kind string, text []byte) error {
	switch kind {
	case "apps/v1 Deployment":
		d, err := strict[apps.Deployment](text)
		if err == nil {
			update := d.Spec.Strategy.RollingUpdate
			rolls := update != nil && update.MaxUnavailable != nil && update.MaxUnavailable.IntValue() == 0
			c.pods = append(c.pods, pod{
				folder + " " + d.Name, "Deployment", d.Name, d.Spec.Replicas != nil, rolls, *d.Spec.Selector,
				d.Spec.Template,
			})
		}
		return err
	case "apps/v1 DaemonSet":
		d, err := strict[apps.DaemonSet](text)
		if err == nil {
			c.pods = append(c.pods,
				pod{folder + " " + d.Name, "DaemonSet", d.Name, false, false, *d.Spec.Selector, d.Spec.Template})
		}
		return err
	case "v1 Service":
		return keep(&c.services, text)
	case "networking.k8s.io/v1 NetworkPolicy":
		return keep(&c.policies, text)
	case "policy/v1 PodDisruptionBudget":
		return keep(&c.budgets, text)
	case "networking.k8s.io/v1 Ingress":
		return keep(&c.ingress, text)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return keep(&c.scales, text)
	case "v1 ConfigMap":
		m, err := strict[core.ConfigMap](text)
		c.configs[m.Name] = m.Data
		return err
	case "v1 PersistentVolumeClaim":
		claim, err := strict[core.PersistentVolumeClaim](text)
		c.claims = append(c.claims, claim.Name)
		return err
	case "v1 Namespace":
		_, err := strict[core.Namespace](text)
		return err
	}

	return fmt.Errorf("the kind %s is not known here: teach .ci/deploy", kind)
}

// selected are the pods of a selector, or an error if there are none.
func (c *cluster) selected(selector *meta.LabelSelector) (list []pod, err error) {
	matches, err := meta.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}

	for _, p := range c.pods {
		if matches.Matches(labels.Set(p.Labels)) {
			list = append(list, p)
		}
	}

	if len(list) == 0 {
		err = fmt.Errorf("no pod has the labels %s", matches)
	}
	return list, err
}

// check finds references that lead nowhere.
func (c *cluster) check() (err error) {
	fault := func(name string, one error) {
		if one != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, one))
		}
	}

	for _, p := range c.pods {
		own, one := c.selected(&p.LabelSelector)
		fault(p.where, one)
		if len(own) != 1 || own[0].where != p.where {
			fault(p.where, errors.New("its selector does not select its pods alone"))
		}
		fault(p.where, c.checkVolumes(p))
		fault(p.where, c.checkSpread(p))
	}

	for _, s := range c.services {
		pods, one := c.selected(&meta.LabelSelector{MatchLabels: s.Spec.Selector})
		fault(s.Name, one)
		for _, port := range s.Spec.Ports {
			fault(s.Name, open(pods, port.TargetPort))
		}
	}

	for _, n := range c.policies {
		pods, one := c.selected(&n.Spec.PodSelector)
		fault(n.Name, one)
		for _, rule := range n.Spec.Ingress {
			for _, port := range rule.Ports {
				fault(n.Name, open(pods, *port.Port))
			}
		}
	}

	for _, b := range c.budgets {
		_, one := c.selected(b.Spec.Selector)
		fault(b.Name, one)
	}
	for _, s := range c.scales {
		fault(s.Name, c.checkScale(s))
	}

	for _, i := range c.ingress {
		for _, rule := range i.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				to := path.Backend.Service
				if !slices.ContainsFunc(c.services, func(s *core.Service) bool {
					return s.Name == to.Name && slices.ContainsFunc(s.Spec.Ports,
						func(p core.ServicePort) bool { return p.Name == to.Port.Name })
				}) {
					fault(i.Name, fmt.Errorf("there is no service %s with the port %s", to.Name, to.Port.Name))
				}
			}
		}
	}
	return err
}

// checkScale checks an autoscaler and its target. The target must not set the number of pods, and must request the
// resources by which it is scaled. Its pods are spread over zones and nodes.
func (c *cluster) checkScale(s *scaling.HorizontalPodAutoscaler) error {
	to := s.Spec.ScaleTargetRef
	i := slices.IndexFunc(c.pods, func(p pod) bool { return p.kind == to.Kind && p.name == to.Name })
	if i < 0 {
		return fmt.Errorf("there is no %s %s to scale", to.Kind, to.Name)
	}

	p := c.pods[i]
	if p.fixed {
		return fmt.Errorf("%s says by itself how many pods there are", p.where)
	}

	for _, by := range s.Spec.Metrics {
		for _, container := range p.Spec.Containers {
			if by.Resource != nil && container.Resources.Requests.Name(by.Resource.Name, "").IsZero() {
				return fmt.Errorf("%s asks for no %s, by a part of which it is scaled", p.where, by.Resource.Name)
			}
		}
	}

	for _, key := range []string{core.LabelHostname, core.LabelTopologyZone} {
		if !slices.ContainsFunc(p.Spec.TopologySpreadConstraints,
			func(t core.TopologySpreadConstraint) bool { return t.TopologyKey == key }) {
			return fmt.Errorf("%s is not spread by %s", p.where, key)
		}
	}
	return nil
}

// checkSpread returns an error if the spread of pods also counts pods of other workloads.
func (c *cluster) checkSpread(p pod) error {
	for _, t := range p.Spec.TopologySpreadConstraints {
		counted, err := c.selected(t.LabelSelector)
		if err != nil {
			return err
		}
		if len(counted) != 1 || counted[0].where != p.where {
			return fmt.Errorf("it is spread by %s among %d kinds of pods, and not its own alone", t.TopologyKey,
				len(counted))
		}
	}
	return nil
}

// inside are the ports on which a pod may reach addresses that are not public.
func (c *cluster) inside(p pod) (ports []int, err error) {
	for _, n := range c.policies {
		matches, err := meta.LabelSelectorAsSelector(&n.Spec.PodSelector)
		if err != nil {
			return nil, err
		}
		if !matches.Matches(labels.Set(p.Labels)) {
			continue
		}

		for _, rule := range n.Spec.Egress {
			if slices.ContainsFunc(rule.To, func(to networking.NetworkPolicyPeer) bool { return to.IPBlock != nil }) {
				for _, port := range rule.Ports {
					ports = append(ports, port.Port.IntValue())
				}
			}
		}
	}
	return ports, nil
}

// open reports whether all pods have a port.
func open(pods []pod, port intstr.IntOrString) error {
	for _, p := range pods {
		if _, ok := number(p.Spec.Containers, port); !ok {
			return fmt.Errorf("%s has no port %s", p.where, port.String())
		}
	}
	return nil
}

// number returns the number of a port that is given by name or by number.
func number(containers []core.Container, port intstr.IntOrString) (int, bool) {
	for _, container := range containers {
		for _, p := range container.Ports {
			if p.Name == port.StrVal && port.Type == intstr.String || int(p.ContainerPort) == port.IntValue() {
				return int(p.ContainerPort), true
			}
		}
	}
	return 0, false
}

// checkVolumes finds volumes that are mounted and not there.
func (c *cluster) checkVolumes(p pod) (err error) {
	for _, container := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, mount := range container.VolumeMounts {
			if !slices.ContainsFunc(p.Spec.Volumes, func(v core.Volume) bool { return v.Name == mount.Name }) {
				err = errors.Join(err, fmt.Errorf("there is no volume %s", mount.Name))
			}
		}
	}

	for _, volume := range p.Spec.Volumes {
		kinds := 0
		for _, there := range []bool{
			volume.EmptyDir != nil, volume.PersistentVolumeClaim != nil, volume.ConfigMap != nil,
			volume.HostPath != nil,
		} {
			if there {
				kinds++
			}
		}

		if kinds != 1 {
			err = errors.Join(err, fmt.Errorf("the volume %s is of %d kinds", volume.Name, kinds))
		}
		if claim := volume.PersistentVolumeClaim; claim != nil && !slices.Contains(c.claims, claim.ClaimName) {
			err = errors.Join(err, fmt.Errorf("there is no claim %s", claim.ClaimName))
		}
		if from := volume.ConfigMap; from != nil && c.configs[from.Name] == nil {
			err = errors.Join(err, fmt.Errorf("there is no ConfigMap %s", from.Name))
		}
	}
	return err
}

// process returns the process that a container starts. It must satisfy the restricted level of pod security with
// our seccomp profile.
func (c *cluster) process(p pod, container core.Container) (one process, err error) {
	one = process{
		Where: p.where, Args: container.Args, Env: map[string]string{}, Rolls: p.rolls, Room: map[string]int64{},
	}
	if one.Inside, err = c.inside(p); err != nil {
		return one, err
	}

	for _, from := range container.EnvFrom {
		if from.ConfigMapRef == nil || c.configs[from.ConfigMapRef.Name] == nil {
			return one, errors.New("its settings are from a ConfigMap that is not there")
		}
		for name, value := range c.configs[from.ConfigMapRef.Name] {
			one.Env[name] = value
		}
	}

	for _, variable := range container.Env {
		switch from := variable.ValueFrom; {
		case from == nil:
			one.Env[variable.Name] = variable.Value
		case from.SecretKeyRef == nil || from.SecretKeyRef.Key != variable.Name:
			return one, fmt.Errorf("%s is not from the key of its name in a Secret", variable.Name)
		default:
			one.Secrets = append(one.Secrets, variable.Name)
		}
	}

	for _, port := range container.Ports {
		one.Ports = append(one.Ports, int(port.ContainerPort))
	}

	for _, asked := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if asked == nil || asked.HTTPGet == nil {
			return one, errors.New("not all three probes are there, by HTTP")
		}
		port, ok := number([]core.Container{container}, asked.HTTPGet.Port)
		if !ok {
			return one, fmt.Errorf("the probed port %s is not declared", asked.HTTPGet.Port.String())
		}
		one.Probes = append(one.Probes, probe{port, asked.HTTPGet.Path})
	}

	for _, mount := range container.VolumeMounts {
		one.Writes = append(one.Writes, mount.MountPath)
		for _, volume := range p.Spec.Volumes {
			if volume.Name == mount.Name && volume.EmptyDir != nil && volume.EmptyDir.SizeLimit != nil {
				one.Room[mount.MountPath] = volume.EmptyDir.SizeLimit.Value()
			}
		}
	}

	if seconds := p.Spec.TerminationGracePeriodSeconds; seconds != nil {
		one.Grace = float64(*seconds)
	}
	return one, errors.Join(hardened(p.Spec, container), bounded(container), roomy(p.Spec, container))
}

// hardened returns an error if a container has permissions that it does not need.
func hardened(p core.PodSpec, container core.Container) error {
	all := p.SecurityContext
	own := container.SecurityContext
	is := func(value *bool, want bool) bool { return value != nil && *value == want }

	for what, ok := range map[string]bool{
		"it may run as root": all != nil && is(all.RunAsNonRoot, true) && all.RunAsUser != nil &&
			*all.RunAsUser > 0,
		"it has no seccomp profile": all != nil && all.SeccompProfile != nil &&
			all.SeccompProfile.Type == core.SeccompProfileTypeLocalhost && all.SeccompProfile.LocalhostProfile != nil,
		"it may gain privileges":    own != nil && is(own.AllowPrivilegeEscalation, false),
		"it may write to the image": own != nil && is(own.ReadOnlyRootFilesystem, true),
		"it keeps capabilities": own != nil && own.Capabilities != nil &&
			slices.Contains(own.Capabilities.Drop, "ALL") && len(own.Capabilities.Add) == 0,
		"it has a token of the cluster":   is(p.AutomountServiceAccountToken, false),
		"it gets variables of services":   is(p.EnableServiceLinks, false),
		"it shares the node's namespaces": !p.HostNetwork && !p.HostPID && !p.HostIPC,
	} {
		if !ok {
			return errors.New(what)
		}
	}
	return nil
}

// bounded asks for a bound on memory, which the service divides.
func bounded(container core.Container) error {
	limit, asked := container.Resources.Limits.Memory(), container.Resources.Requests.Memory()
	if limit.IsZero() || limit.Cmp(*asked) != 0 {
		return fmt.Errorf("its memory is bounded at %s and asked for as %s; both have to be the same", limit, asked)
	}
	return nil
}

// roomy asks for a bound on each folder on the node's disk, and for all of them within
// the pod's, beyond which it is evicted.
func roomy(p core.PodSpec, container core.Container) error {
	left := container.Resources.Limits.StorageEphemeral().Value()
	for _, volume := range p.Volumes {
		if volume.EmptyDir == nil {
			continue
		}
		if volume.EmptyDir.Medium != core.StorageMediumDefault {
			return fmt.Errorf("the volume %s takes the memory of the container", volume.Name)
		}
		if volume.EmptyDir.SizeLimit == nil {
			return fmt.Errorf("the volume %s has no bound", volume.Name)
		}
		left -= volume.EmptyDir.SizeLimit.Value()
	}

	if left <= 0 {
		return errors.New("its volumes may have more than the pod")
	}
	return nil
}
