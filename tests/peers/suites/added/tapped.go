// Package tapped keeps what a suite configures its manager with, for whoever takes that manager's place.
package tapped

var (
	// Configuration is what the core controllers are set up with.
	Configuration any
	// Jobs is what the controllers of jobs are set up with.
	Jobs JobOptions
	// Transformations is what the queues make of requests.
	Transformations any
	// ExcludedPrefixes is which resources the queues do not count.
	ExcludedPrefixes []string
	// MultiKueue is what the controllers that send jobs to other clusters are set up with.
	MultiKueue any
	// MetricsPorts is where those serve their metrics that run in the place of managers.
	MetricsPorts = func() []string { return nil }
	// GatesChanged is called whenever a spec has set a feature gate, or it has its old value again.
	GatesChanged = func() {}
)

// JobOptions are options of the controllers of jobs.
type JobOptions struct {
	WithoutQueueName bool
	PodsReady        bool
	Labels           []string
	Namespaces       string
}

// Forget begins anew, for another manager.
func Forget() {
	Configuration, Transformations, Jobs, ExcludedPrefixes, MultiKueue = nil, nil, JobOptions{}, nil, nil
}

// ToldOfJobs is called with the options of each controller.
func ToldOfJobs(withoutQueueName, podsReady bool, labels []string, namespaces string) {
	Jobs.WithoutQueueName = Jobs.WithoutQueueName || withoutQueueName
	Jobs.PodsReady = Jobs.PodsReady || podsReady
	Jobs.Labels = append(Jobs.Labels, labels...)
	if namespaces != "" {
		Jobs.Namespaces = namespaces
	}
}
