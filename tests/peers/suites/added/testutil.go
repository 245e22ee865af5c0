// Package testutil reads the metrics that kuelog serves, in the place of those of this process.
package testutil

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	theirs "k8s.io/component-base/metrics/testutil"

	"sigs.k8s.io/kueue/pkg/util/tapped"
)

var fqName = regexp.MustCompile(`fqName: "([^"]*)"`)

// GetCounterMetricValue is the value of a counter.
func GetCounterMetricValue(metric prometheus.Counter) (float64, error) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		return theirs.GetCounterMetricValue(metric)
	}
	return served(metric, counted)
}

// GetGaugeMetricValue is the value of a gauge.
func GetGaugeMetricValue(metric prometheus.Gauge) (float64, error) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		return theirs.GetGaugeMetricValue(metric)
	}
	return served(metric, func(one *dto.Metric) float64 { return one.GetGauge().GetValue() })
}

// GetHistogramMetricCount is how many were counted in a histogram.
func GetHistogramMetricCount(metric prometheus.Observer) (uint64, error) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		return theirs.GetHistogramMetricCount(metric)
	}
	count, err := served(metric.(prometheus.Metric), func(one *dto.Metric) float64 { return float64(one.GetHistogram().GetSampleCount()) })
	return uint64(count), err
}

// milli are the metrics in which Kueue 0.17 counts CPU in thousandths of a core, and later versions do not.
var milli = map[string]bool{"kueue_cohort_subtree_quota": true, "kueue_cohort_subtree_resource_reservations": true}

// forgotten is by metric and labels how much of it is not counted any more.
var forgotten = map[string]map[string]float64{}

// Forget begins a counter anew, as far as those are concerned who read it here.
func Forget(name string) error {
	families, err := families()
	if err != nil {
		return err
	}
	forgotten[name] = map[string]float64{}
	for _, one := range families[name].GetMetric() {
		forgotten[name][fmt.Sprint(one.Label)] = counted(one)
	}
	return nil
}

func counted(one *dto.Metric) float64 {
	return one.GetCounter().GetValue() + one.GetUntyped().GetValue()
}

// served is the sum of what is served of a metric with these labels.
func served(metric prometheus.Metric, read func(*dto.Metric) float64) (float64, error) {
	var asked dto.Metric
	if err := metric.Write(&asked); err != nil {
		return 0, err
	}
	families, err := families()
	if err != nil {
		return 0, err
	}
	name := fqName.FindStringSubmatch(metric.Desc().String())[1]
	sum := 0.0
	for _, one := range families[name].GetMetric() {
		if matches(&asked, one) {
			value := read(one)
			if math.IsInf(value, 1) {
				value = 0 // Kueue 0.17 tells 0 where there is no limit.
			}
			sum += factor(name, one) * (value - forgotten[name][fmt.Sprint(one.Label)])
		}
	}
	return sum, nil
}

// factor is how much of the unit of Kueue 0.17 is in one of what is served.
func factor(name string, one *dto.Metric) float64 {
	for _, label := range one.Label {
		if milli[name] && label.GetName() == "resource" && label.GetValue() == "cpu" {
			return 1000
		}
	}
	return 1
}

// families is all that is served, by whoever runs beside one of the clusters.
func families() (map[string]*dto.MetricFamily, error) {
	found := map[string]*dto.MetricFamily{}
	for _, port := range tapped.MetricsPorts() {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/metrics", port))
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		parser := expfmt.NewTextParser(model.LegacyValidation)
		served, err := parser.TextToMetricFamilies(answer.Body)
		if err != nil {
			return nil, err
		}
		for name, family := range served {
			if before := found[name]; before != nil {
				family.Metric = append(before.Metric, family.Metric...)
			}
			found[name] = family
		}
	}
	return found, nil
}

// renamed is how later versions call labels of Kueue 0.17.
var renamed = map[string]string{"detailed_reason": "underlying_cause"}

// matches says whether no label has another value; kuelog has no roles of replicas.
func matches(asked, one *dto.Metric) bool {
	for _, label := range asked.Label {
		name := label.GetName()
		if later, ok := renamed[name]; ok {
			name = later
		}
		for _, has := range one.Label {
			if has.GetName() == name && has.GetValue() != label.GetValue() && name != "replica_role" {
				return false
			}
		}
	}
	return true
}
