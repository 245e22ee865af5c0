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

// kuelog is what runs in the place of the manager of this process, and what it was told.
var kuelog struct {
	process *exec.Cmd
	ended   chan struct{}
	folder  string
	told    map[string]any
	gates   []byte
}

// StartManager has kuelog do what the controllers of the suite would.
func (f *Framework) StartManager(ctx context.Context, cfg *rest.Config, setup ManagerSetup, options ...ManagerOption) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		f.startTheirs(ctx, cfg, setup, options...)
		return
	}
	ginkgo.By("starting kuelog", func() {
		f.listen(ctx, cfg, setup, options...)
		installed := &f.testEnv.WebhookInstallOptions
		kuelog.told = map[string]any{
			"configuration": tapped.Configuration, "jobs": tapped.Jobs, "namespaces": selector(tapped.Jobs.Namespaces),
			"transformations": tapped.Transformations, "excludedPrefixes": tapped.ExcludedPrefixes,
			"port": installed.LocalServingPort, "certificates": installed.LocalServingCertDir,
			"authority": installed.LocalServingCAData, "webhooks": f.WebhookPath != "",
		}
		if kuelog.folder == "" {
			folder, err := os.MkdirTemp(os.Getenv("KUELOG_SUITE_FOLDER"), "kuelog-")
			gomega.Expect(err).NotTo(gomega.HaveOccurred())
			kuelog.folder = folder
			gomega.Expect(os.WriteFile(filepath.Join(folder, "kubeconfig"), f.testEnv.KubeConfig, 0o600)).To(gomega.Succeed())
		}
		start(gates())
		tapped.GatesChanged = startAnew
	})
}

// StopManager ends it.
func (f *Framework) StopManager(ctx context.Context) {
	if os.Getenv("KUELOG_SUITE_PYTHON") == "" {
		f.stopTheirs(ctx)
		return
	}
	tapped.GatesChanged = func() {}
	stop()
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

// startAnew has kuelog go on with the same log and other feature gates.
func startAnew() {
	now := gates()
	if kuelog.process == nil || bytes.Equal(now, kuelog.gates) {
		return
	}
	ginkgo.By("starting kuelog anew, with other feature gates", func() {
		stop()
		start(now)
	})
}

func start(gates []byte) {
	kuelog.gates, kuelog.told["gates"] = gates, json.RawMessage(gates)
	told, err := json.Marshal(kuelog.told)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(os.WriteFile(filepath.Join(kuelog.folder, "told.json"), told, 0o600)).To(gomega.Succeed())
	output, err := os.OpenFile(filepath.Join(kuelog.folder, "output"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer output.Close()
	command := exec.Command(os.Getenv("KUELOG_SUITE_PYTHON"), "-m", "tests.peers.suites.in_its_place", kuelog.folder)
	command.Dir = os.Getenv("KUELOG_SUITE_ROOT")
	command.Stdout, command.Stderr = output, output
	gomega.Expect(command.Start()).To(gomega.Succeed())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	kuelog.process, kuelog.ended = command, ended
	gomega.Eventually(ready, patience, 50*time.Millisecond).Should(gomega.Succeed())
}

// ready is an error until the webhooks listen and the services have folded their log.
func ready() error {
	select {
	case <-kuelog.ended:
		return gomega.StopTrying("kuelog has ended, and says why in " + kuelog.folder)
	default:
	}
	dialer := &net.Dialer{Timeout: time.Second}
	address := fmt.Sprintf("127.0.0.1:%d", kuelog.told["port"])
	connection, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	connection.Close()
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%s/metrics", os.Getenv("KUELOG_SUITE_METRICS")))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("kuelog is not ready: %s", answer.Status)
	}
	return nil
}

func stop() {
	if kuelog.process == nil {
		return
	}
	_ = kuelog.process.Process.Signal(syscall.SIGTERM)
	<-kuelog.ended
	kuelog.process = nil
}
