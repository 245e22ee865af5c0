package framework

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"sigs.k8s.io/kueue/pkg/util/tapped"
)

const patience = 2 * time.Minute

// kuelog is what runs in the place of the manager of one cluster, and what it was told.
type kuelog struct {
	process *exec.Cmd
	ended   chan struct{}
	folder  string
	metrics string
	told    map[string]any
	gates   []byte
}

var (
	// all is by cluster the kuelog that runs beside it.
	all = map[*Framework]*kuelog{}
	// one manager is set up at a time, as it is told in variables of all.
	setting sync.Mutex
)

// StartManager has kuelog do what the controllers of the suite would.
func (f *Framework) StartManager(ctx context.Context, cfg *rest.Config, setup ManagerSetup, options ...ManagerOption) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		f.startTheirs(ctx, cfg, setup, options...)
		return
	}
	ginkgo.By("starting kuelog", func() {
		begun := f.told(ctx, cfg, setup, options...)
		begun.start(gates())
		tapped.GatesChanged, tapped.MetricsPorts = startAnew, metricsPorts
	})
}

// StopManager ends it.
func (f *Framework) StopManager(ctx context.Context) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		f.stopTheirs(ctx)
		return
	}
	f.stopOurs()
}

// told is the kuelog of this cluster, with what its manager would be set up with.
func (f *Framework) told(ctx context.Context, cfg *rest.Config, setup ManagerSetup, options ...ManagerOption) *kuelog {
	setting.Lock()
	defer setting.Unlock()
	f.listen(ctx, cfg, setup, options...)
	found := all[f]
	if found == nil {
		folder, err := os.MkdirTemp(os.Getenv("KUELOG_SUITE_FOLDER"), "kuelog-")
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		gomega.Expect(os.WriteFile(filepath.Join(folder, "kubeconfig"), f.testEnv.KubeConfig, 0o600)).To(gomega.Succeed())
		found = &kuelog{folder: folder, metrics: freePort()}
		all[f] = found
	}
	installed := &f.testEnv.WebhookInstallOptions
	found.told = map[string]any{
		"configuration": tapped.Configuration, "jobs": tapped.Jobs, "namespaces": selector(tapped.Jobs.Namespaces),
		"transformations": tapped.Transformations, "excludedPrefixes": tapped.ExcludedPrefixes,
		"multiKueue": tapped.MultiKueue,
		"port":       installed.LocalServingPort, "certificates": installed.LocalServingCertDir,
		"authority": installed.LocalServingCAData, "webhooks": f.WebhookPath != "", "metrics": found.metrics,
	}
	return found
}

// metricsPorts are those of all that run.
func metricsPorts() []string {
	var found []string
	for _, one := range all {
		if one.process != nil {
			found = append(found, one.metrics)
		}
	}
	return found
}

func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer listener.Close()
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

// listen has the suite set up a manager that is never started.
func (f *Framework) listen(ctx context.Context, cfg *rest.Config, setup ManagerSetup, options ...ManagerOption) {
	tapped.Forget()
	made := manager.Options{
		Scheme:     f.scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: ptr.To(true)},
	}
	for _, one := range options {
		one(&made)
	}
	unused, err := ctrl.NewManager(cfg, made)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	setting, cancel := context.WithCancel(ctx)
	defer cancel()
	setup(setting, unused)
}

// selector is the label selector that was written as text.
func selector(text string) *metav1.LabelSelector {
	if text == "" {
		return nil
	}
	found, err := metav1.ParseToLabelSelector(text)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return found
}

// gates is how the feature gates are now, as JSON.
func gates() []byte {
	found := map[string]bool{}
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		found[string(name)] = utilfeature.DefaultFeatureGate.Enabled(name)
	}
	told, err := json.Marshal(found)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return told
}

// startAnew has each kuelog go on with the same log and other feature gates.
func startAnew() {
	now := gates()
	for _, one := range all {
		if one.process != nil && !bytes.Equal(now, one.gates) {
			ginkgo.By("starting kuelog anew, with other feature gates", func() {
				one.stop()
				one.start(now)
			})
		}
	}
}

func (k *kuelog) start(gates []byte) {
	k.gates, k.told["gates"] = gates, json.RawMessage(gates)
	told, err := json.Marshal(k.told)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(os.WriteFile(filepath.Join(k.folder, "told.json"), told, 0o600)).To(gomega.Succeed())
	output, err := os.OpenFile(filepath.Join(k.folder, "output"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer output.Close()
	command := exec.Command(os.Getenv("KUELOG_SUITE_PYTHON"), "-m", "tests.peers.suites.in_its_place", k.folder)
	command.Dir = os.Getenv("KUELOG_SUITE_ROOT")
	command.Stdout, command.Stderr = output, output
	gomega.Expect(command.Start()).To(gomega.Succeed())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	k.process, k.ended = command, ended
	gomega.Eventually(k.ready, patience, 50*time.Millisecond).Should(gomega.Succeed())
}

// ready is an error until the webhooks listen and the services have folded their log.
func (k *kuelog) ready() error {
	select {
	case <-k.ended:
		return gomega.StopTrying("kuelog has ended, and says why in " + k.folder)
	default:
	}
	dialer := &net.Dialer{Timeout: time.Second}
	address := fmt.Sprintf("127.0.0.1:%d", k.told["port"])
	connection, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	connection.Close()
	if os.Getenv("KUELOG_SUITE_SERVICES") == "" {
		return nil
	}
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/metrics", k.metrics))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("kuelog is not ready: %s", answer.Status)
	}
	return nil
}

func (k *kuelog) stop() {
	if k.process == nil {
		return
	}
	_ = k.process.Process.Signal(syscall.SIGTERM)
	<-k.ended
	k.process = nil
}

// stopOurs ends the kuelog of this cluster, if one runs.
func (f *Framework) stopOurs() {
	if found := all[f]; found != nil {
		found.stop()
	}
}
