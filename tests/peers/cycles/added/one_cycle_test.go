// Plays one scheduling cycle in each of many small worlds, and says what the scheduler made of it.
//
// kuelog puts this file into the package of the scheduler, in a copy of Kueue's module (tests/peers/cycles/program.py):
// a cycle can be begun from there only. There is no API server: objects lie in a fake client, and the caches of queues
// and of quota are filled from them as Kueue's controllers would do it.

package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/featuregate"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/routine"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

const (
	// Files that the process is told of: the worlds it reads, and the answers it writes, one for each in their order.
	worldsFile  = "KUELOG_CYCLES_WORLDS"
	answersFile = "KUELOG_CYCLES_ANSWERS"
	// How long a cycle may take; it takes some milliseconds.
	longestCycle = 30 * time.Second
)

// drawnWorld is what a cycle begins with.
type drawnWorld struct {
	Now           time.Time                   `json:"now"`
	Fair          bool                        `json:"fair"`
	Strategies    []config.PreemptionStrategy `json:"strategies"`
	Gates         map[string]bool             `json:"gates"`
	Namespaces    []corev1.Namespace          `json:"namespaces"`
	Flavors       []kueue.ResourceFlavor      `json:"flavors"`
	ClusterQueues []kueue.ClusterQueue        `json:"clusterQueues"`
	Cohorts       []kueue.Cohort              `json:"cohorts"`
	LocalQueues   []kueue.LocalQueue          `json:"localQueues"`
	Workloads     []kueue.Workload            `json:"workloads"`
	Topologies    []kueue.Topology            `json:"topologies"`
	Nodes         []corev1.Node               `json:"nodes"`
	Pods          []corev1.Pod                `json:"pods"`
}

// cycleAnswer is what a cycle has come to, by the names of workloads.
type cycleAnswer struct {
	Holds     map[string][]kueue.PodSetAssignment `json:"holds"`
	// By workload and pod set, how many pods lie in which domain.
	Places    map[string]map[string]map[string]int32 `json:"places"`
	Preempted map[string]*metav1.Condition        `json:"preempted"`
	Pending   map[string]*metav1.Condition        `json:"pending"`
	Evicted   []string                            `json:"evicted"`
	Finished  []string                            `json:"finished"`
	Error     string                              `json:"error"`
}

// TestOneCycleOfEachWorld is no test of anything: it is how the program gets its turn.
func TestOneCycleOfEachWorld(t *testing.T) {
	raw, err := os.ReadFile(os.Getenv(worldsFile))
	if err != nil {
		t.Skip("there are no worlds")
	}
	var worlds []drawnWorld
	if err := json.Unmarshal(raw, &worlds); err != nil {
		t.Fatal(err)
	}
	answers := make([]cycleAnswer, len(worlds))
	for number := range worlds {
		answers[number].Error = "it was not played to its end"
		// Feature gates are put back at the end of each.
		t.Run(fmt.Sprint(number), func(t *testing.T) { answers[number] = answered(t, &worlds[number]) })
	}
	written, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(answersFile), written, 0o644); err != nil {
		t.Fatal(err)
	}
}

// answered plays a world; what goes wrong, the scheduler's panics among it, is told as its error.
func answered(t *testing.T, world *drawnWorld) (answer cycleAnswer) {
	defer func() {
		if reason := recover(); reason != nil {
			answer = cycleAnswer{Error: fmt.Sprintf("panic: %v\n%s", reason, debug.Stack())}
		}
	}()
	for gate, on := range world.Gates {
		if name := featuregate.Feature(gate); features.Enabled(name) != on {
			features.SetFeatureGateDuringTest(t, name, on)
		}
	}
	ctx, cancel := context.WithTimeout(ctrl.LoggerInto(t.Context(), logr.Discard()), longestCycle)
	defer cancel()
	workloads := &arrivals{}
	objects := stored(world, workloads)
	if err := playCycle(ctx, t, world, objects, workloads); err != nil {
		return cycleAnswer{Error: err.Error()}
	}
	answer, err := left(ctx, objects)
	if err != nil {
		return cycleAnswer{Error: err.Error()}
	}
	return answer
}

// stored is the client in which the objects of a world lie.
func stored(world *drawnWorld, workloads *arrivals) client.Client {
	return utiltesting.NewClientBuilder().
		WithLists(
			&corev1.NamespaceList{Items: world.Namespaces},
			&kueue.ClusterQueueList{Items: world.ClusterQueues},
			&kueue.LocalQueueList{Items: world.LocalQueues},
			&kueue.WorkloadList{Items: world.Workloads},
			&kueue.TopologyList{Items: world.Topologies},
			&corev1.NodeList{Items: world.Nodes},
			&corev1.PodList{Items: world.Pods},
		).
		WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{
			List:             workloads.list,
			SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge,
		}).
		Build()
}

// arrivals keeps workloads out of lists until all queues are there, as workloads come after these but for a restart:
// queues that are new take everybody into line whom they find, also those who have to wait for a while yet.
type arrivals struct{ begun bool }

func (a *arrivals) list(ctx context.Context, stored client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	if _, ofWorkloads := list.(*kueue.WorkloadList); ofWorkloads && !a.begun {
		return nil
	}
	return stored.List(ctx, list, opts...)
}

// playCycle fills both caches, and has the scheduler go through one cycle, with all that it sets going.
func playCycle(ctx context.Context, t *testing.T, world *drawnWorld, objects client.Client, workloads *arrivals) error {
	clock := testingclock.NewFakeClock(world.Now)
	quota := schdcache.New(objects)
	underWay := expectations.New()
	queues := qcache.NewManagerForUnitTests(objects, quota,
		qcache.WithClock(clock), qcache.WithPreemptionExpectations(underWay))
	if err := fill(ctx, world, quota, queues); err != nil {
		return err
	}
	workloads.begun = true
	again, err := submit(ctx, world, quota, queues)
	if err != nil {
		return err
	}
	if again {
		clock.Step(time.Second)
	}
	if !again && !anybodyToTry(quota, queues) {
		return nil // The scheduler would wait for somebody to come.
	}
	go queues.CleanUpOnContext(ctx)
	var sharing *config.FairSharing
	if world.Fair {
		sharing = &config.FairSharing{PreemptionStrategies: world.Strategies}
	}
	scheduler := New(queues, quota, objects, &utiltesting.EventRecorder{},
		WithFairSharing(sharing), WithClock(t, clock), WithPreemptionExpectations(underWay))
	var begun sync.WaitGroup
	scheduler.setAdmissionRoutineWrapper(routine.NewWrapper(func() { begun.Add(1) }, begun.Done))
	scheduler.schedule(ctx)
	begun.Wait()
	return ctx.Err()
}

// anybodyToTry tells whether a queue that is active has somebody in line.
func anybodyToTry(quota *schdcache.Cache, queues *qcache.Manager) bool {
	for name := range queues.Dump() {
		if quota.ClusterQueueActive(name) {
			return true
		}
	}
	return false
}

// fill has both caches see what there is, in the order in which nothing has to be seen twice.
func fill(ctx context.Context, world *drawnWorld, quota *schdcache.Cache, queues *qcache.Manager) error {
	for i := range world.Nodes {
		quota.TASCache().SyncNode(&world.Nodes[i])
	}
	for i := range world.Pods {
		quota.TASCache().Update(&world.Pods[i], logr.Discard())
	}
	for i := range world.Topologies {
		quota.AddOrUpdateTopology(logr.Discard(), &world.Topologies[i])
	}
	for i := range world.Flavors {
		quota.AddOrUpdateResourceFlavor(logr.Discard(), &world.Flavors[i])
	}
	for i := range world.Cohorts {
		if err := quota.AddOrUpdateCohort(&world.Cohorts[i]); err != nil {
			return err
		}
		queues.AddOrUpdateCohort(ctx, &world.Cohorts[i])
	}
	for i := range world.ClusterQueues {
		if err := quota.AddClusterQueue(ctx, &world.ClusterQueues[i]); err != nil {
			return err
		}
		if err := queues.AddClusterQueue(ctx, &world.ClusterQueues[i]); err != nil {
			return err
		}
	}
	for i := range world.LocalQueues {
		if err := queues.AddLocalQueue(ctx, &world.LocalQueues[i]); err != nil {
			return err
		}
	}
	return nil
}

// submit has both caches see the workloads, each the one that it is for. It tells whether some are placed a second time.
func submit(ctx context.Context, world *drawnWorld, quota *schdcache.Cache, queues *qcache.Manager) (again bool, err error) {
	for i := range world.Workloads {
		one := &world.Workloads[i]
		if !workload.IsAdmissible(one) {
			quota.AddOrUpdateWorkload(logr.Discard(), one)
			again = queues.QueueSecondPassIfNeeded(ctx, one, 0) || again
		} else if err := queues.AddOrUpdateWorkload(logr.Discard(), one); err != nil {
			return again, err
		}
	}
	return again, nil
}

// left is how the workloads stand now.
func left(ctx context.Context, objects client.Client) (cycleAnswer, error) {
	answer := cycleAnswer{
		Holds:     map[string][]kueue.PodSetAssignment{},
		Places:    map[string]map[string]map[string]int32{},
		Preempted: map[string]*metav1.Condition{},
		Pending:   map[string]*metav1.Condition{},
	}
	var workloads kueue.WorkloadList
	if err := objects.List(ctx, &workloads); err != nil {
		return answer, err
	}
	for i := range workloads.Items {
		one := &workloads.Items[i]
		if workload.IsFinished(one) {
			answer.Finished = append(answer.Finished, one.Name)
			continue
		}
		if told := apimeta.FindStatusCondition(one.Status.Conditions, kueue.WorkloadEvicted); told != nil &&
			told.Status == metav1.ConditionTrue && told.Reason == kueue.WorkloadEvictedDueToNodeFailures {
			answer.Evicted = append(answer.Evicted, one.Name)
		}
		if apimeta.IsStatusConditionTrue(one.Status.Conditions, kueue.WorkloadPreempted) {
			answer.Preempted[one.Name] = apimeta.FindStatusCondition(one.Status.Conditions, kueue.WorkloadPreempted)
		}
		if workload.HasQuotaReservation(one) {
			answer.Holds[one.Name] = one.Status.Admission.PodSetAssignments
			answer.Places[one.Name] = places(one.Status.Admission)
		} else if told := apimeta.FindStatusCondition(one.Status.Conditions, kueue.WorkloadQuotaReserved); told != nil {
			answer.Pending[one.Name] = told
		}
	}
	return answer, nil
}

// places is how many pods of each pod set lie in which domain.
func places(admission *kueue.Admission) map[string]map[string]int32 {
	found := map[string]map[string]int32{}
	for _, one := range admission.PodSetAssignments {
		if one.TopologyAssignment == nil {
			continue
		}
		counts := map[string]int32{}
		for _, domain := range utiltas.InternalFrom(one.TopologyAssignment).Domains {
			counts[strings.Join(domain.Values, "/")] += domain.Count
		}
		found[string(one.Name)] = counts
	}
	return found
}
